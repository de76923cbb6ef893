// Conversions of storage types, packed elements, random numbers and packed products of the host
// prelude, against the IR's own.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "lib/ir/dtype.h"
#include "lib/ir/low_precision.h"
#include "lib/ir/philox.h"
#include "lib/ir/scalar_function.h"
#include "lib/ir/tensor.h"
#include "test/unit/backend/host_library.h"

namespace mcc::backend {
namespace {

const char* const kSmallFormats[] = {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"};

class HostConversions : public HostLibrary {
 protected:
  std::string test_source() const override {
    std::string text = "typedef mcc_vector<float, 8> V __attribute__((aligned(4)));\n";
    for (const char* format : {"f16", "bf16"}) {
      text += replaced(R"(
extern "C" void FORMAT_from(const float* x, unsigned short* vector, unsigned short* scalar, long n) {
  typedef mcc_vector<mcc_u16, 8> H __attribute__((aligned(2)));
  for (long i = 0; i < n; i += 8) {
    *(H*)(vector + i) = mcc_f32_to_FORMAT(mcc_vector<float, 8>(*(const V*)(x + i)));
    for (int j = 0; j < 8; ++j) scalar[i + j] = mcc_f32_to_FORMAT(x[i + j]);
  }
}
extern "C" void FORMAT_to(const unsigned short* h, float* vector, float* scalar, long n) {
  typedef mcc_vector<mcc_u16, 8> H __attribute__((aligned(2)));
  for (long i = 0; i < n; i += 8) {
    *(V*)(vector + i) = mcc_FORMAT_to_f32(mcc_vector<mcc_u16, 8>(*(const H*)(h + i)));
    for (int j = 0; j < 8; ++j) scalar[i + j] = mcc_FORMAT_to_f32(h[i + j]);
  }
}
)",
                       "FORMAT", format);
    }
    for (const char* format : kSmallFormats) {
      text += replaced(R"(
extern "C" void FORMAT_from(const float* x, unsigned char* saturated, unsigned char* plain, long n) {
  typedef mcc_vector<mcc_u8, 8> C __attribute__((aligned(1)));
  for (long i = 0; i < n; i += 8) {
    const mcc_vector<float, 8> v = *(const V*)(x + i);
    *(C*)(saturated + i) = mcc_f32_to_FORMAT(v);
    for (int j = 0; j < 8; ++j) plain[i + j] = mcc_f32_to_FORMAT_unsaturated(x[i + j]);
  }
}
extern "C" void FORMAT_to(const unsigned char* h, float* x, long n) {
  for (long i = 0; i < n; ++i) x[i] = mcc_FORMAT_to_f32(h[i]);
}
)",
                       "FORMAT", format);
    }
    return text + R"(
extern "C" void f4_codes(const float* x, int* codes, float* back, long n) {
  for (long i = 0; i < n; ++i) back[i] = mcc_f4e2m1_to_f32(codes[i] = mcc_f32_to_f4e2m1(x[i]));
}
extern "C" int packed(unsigned char* p) {
  mcc_store_bits(p, 3, 4, -3);
  mcc_store_bits(p, 1, 2, 2);
  return mcc_load_i4(p, 3) * 10000 + mcc_load_u4(p, 3) * 100 + mcc_load_i2(p, 1) * 10 + mcc_load_u2(p, 1);
}
extern "C" unsigned philox_word(unsigned long long seed, unsigned long long i, int word) {
  return mcc_philox(seed, i).w[word];
}
extern "C" float uniform(unsigned long long seed, unsigned long long i) { return mcc_random_uniform(seed, i); }
extern "C" float normal(unsigned long long seed, unsigned long long i) { return mcc_random_normal(seed, i); }
extern "C" int dots(int a, int b, int c, int is_unsigned) {
  return is_unsigned ? mcc_dot4_us(a, b, c) : mcc_dot4(a, b, c);
}
)";
  }
};

// Values around every boundary of the formats, specials and random bit patterns; multiple of 8.
std::vector<float> values() {
  std::vector<float> result{0,      -0.0F,  INFINITY, -INFINITY, NAN,        65519,
                            65520,  65504,  448,      464,       465,        480,
                            240,    248,    57344,    61439,     61440,      1e30F,
                            -1e30F, 1e-30F, 0x1p-24F, 0x1p-25F,  0x1.8p-25F, -3};
  std::mt19937 random(5);
  for (int i = 0; i < 100000; ++i) {
    const uint32_t bits = random();
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    result.push_back(value);
    result.push_back(std::ldexp(static_cast<float>(bits % 4096) / 64 - 32,
                                static_cast<int>(random() % 40) - 24));
  }
  return result;
}

TEST_P(HostConversions, SixteenBitFormats) {
  const std::vector<float> x = values();
  const auto count = static_cast<long>(x.size());
  using Reference = uint16_t (*)(double);
  for (const auto& [name, reference] :
       {std::pair<const char*, Reference>{"f16", double_to_half}, {"bf16", double_to_bfloat16}}) {
    std::vector<uint16_t> vector(x.size()), scalar(x.size());
    function<void(const float*, uint16_t*, uint16_t*, long)>(std::string(name) + "_from")(
        x.data(), vector.data(), scalar.data(), count);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        EXPECT_GT(vector[i] & 0x7fff, name[0] == 'f' ? 0x7c00 : 0x7f80);
      } else {
        ASSERT_EQ(vector[i], reference(static_cast<double>(x[i]))) << name << " of " << x[i];
      }
      ASSERT_EQ(vector[i], scalar[i]) << name << " of " << x[i];
    }
    std::vector<uint16_t> codes(65536);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
    std::vector<float> wide(codes.size()), one(codes.size());
    function<void(const uint16_t*, float*, float*, long)>(std::string(name) + "_to")(
        codes.data(), wide.data(), one.data(), 65536);
    for (size_t i = 0; i < codes.size(); ++i) {
      const float expected = name[0] == 'f' ? half_to_float(codes[i]) : bfloat16_to_float(codes[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(one[i])) << name << " " << i;
      } else {
        ASSERT_EQ(wide[i], expected) << name << " " << i;
        ASSERT_EQ(one[i], expected) << name << " " << i;
      }
    }
  }
}

TEST_P(HostConversions, EightAndFourBitFormats) {
  const std::vector<float> x = values();
  const auto count = static_cast<long>(x.size());
  for (const char* name : kSmallFormats) {
    const DType format = *dtype_from_name(name);
    std::vector<uint8_t> saturated(x.size()), plain(x.size());
    function<void(const float*, uint8_t*, uint8_t*, long)>(std::string(name) + "_from")(
        x.data(), saturated.data(), plain.data(), count);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        ASSERT_TRUE(std::isnan(small_float_to_double(format, plain[i])) &&
                    std::isnan(small_float_to_double(format, saturated[i])));
        continue;
      }
      const auto value = static_cast<double>(x[i]);
      ASSERT_EQ(saturated[i], double_to_small_float(format, value)) << name << " of " << x[i];
      ASSERT_EQ(plain[i], double_to_small_float(format, value, false)) << name << " of " << x[i];
    }
    std::vector<uint8_t> codes(256);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
    std::vector<float> back(256);
    function<void(const uint8_t*, float*, long)>(std::string(name) + "_to")(codes.data(),
                                                                            back.data(), 256);
    for (size_t i = 0; i < codes.size(); ++i) {
      const double expected = small_float_to_double(format, codes[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(back[i])) << name << " " << i;
      } else {
        ASSERT_EQ(static_cast<double>(back[i]), expected) << name << " " << i;
      }
    }
  }
  std::vector<int> codes(x.size());
  std::vector<float> back(x.size());
  function<void(const float*, int*, float*, long)>("f4_codes")(x.data(), codes.data(), back.data(),
                                                               count);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(codes[i], double_to_small_float(DType::f4e2m1, static_cast<double>(x[i]))) << x[i];
    ASSERT_EQ(static_cast<double>(back[i]),
              small_float_to_double(DType::f4e2m1, static_cast<uint8_t>(codes[i])));
  }
}

TEST_P(HostConversions, PackedElementsRandomNumbersAndProducts) {
  uint8_t bytes[2] = {0xff, 0xff};
  EXPECT_EQ(function<int(uint8_t*)>("packed")(bytes), -3 * 10000 + 13 * 100 - 2 * 10 + 2);
  EXPECT_EQ(bytes[0], 0xfb);
  EXPECT_EQ(bytes[1], 0xdf);
  for (uint64_t i : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
    for (int word = 0; word < 4; ++word) {
      EXPECT_EQ(function<unsigned(uint64_t, uint64_t, int)>("philox_word")(99, i, word),
                philox(99, i)[static_cast<size_t>(word)]);
    }
    EXPECT_EQ(function<float(uint64_t, uint64_t)>("uniform")(99, i),
              unit_interval(philox(99, i)[0]));
    const double u = static_cast<double>(unit_interval(philox(99, i)[0])),
                 v = static_cast<double>(unit_interval(philox(99, i)[1]));
    EXPECT_NEAR(function<float(uint64_t, uint64_t)>("normal")(99, i),
                std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * v), 1e-5);
  }
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    const int64_t operands[3] = {static_cast<int32_t>(random()), static_cast<int32_t>(random()),
                                 static_cast<int32_t>(random() >> 4)};
    for (int is_unsigned : {0, 1}) {
      const ScalarFunction* row = find_scalar_function(is_unsigned != 0 ? "dot4_us" : "dot4");
      EXPECT_EQ(function<int(int, int, int, int)>("dots")(
                    static_cast<int>(operands[0]), static_cast<int>(operands[1]),
                    static_cast<int>(operands[2]), is_unsigned),
                static_cast<int32_t>(row->evaluate_integer(operands)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, HostConversions, MCC_HOST_COMPILERS, compiler_name);

}  // namespace
}  // namespace mcc::backend
