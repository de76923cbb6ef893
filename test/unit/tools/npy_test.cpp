// .npy and .npz: round trips of every type, archives as NumPy writes them, damage.
#include "tools/io/npy.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <random>

#include "lib/support/error.h"
#include "test/unit/runtime/test_files.h"
#include "tools/io/files.h"
#include "tools/io/inputs.h"
#include "tools/io/zip.h"

namespace mcc::tools {
namespace {

using runtime::test::TemporaryDirectory;

std::string npy_text(const std::string& descr, const std::string& shape, const std::string& data,
                     bool fortran = false) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }\n";
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + data;
}

TEST(Npy, RoundTripsEveryType) {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::i64, DType::i32, DType::i16,
                      DType::i8, DType::u64, DType::u32, DType::u16, DType::u8, DType::boolean}) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {3}, {0, 4}, {2, 3, 5}}) {
      const Tensor tensor = random_tensor(dtype, shape, 1);
      const std::string text = write_npy(tensor);
      const Tensor back = to_tensor(parse_npy(text, "memory"), dtype, "x");
      EXPECT_EQ(back.shape(), shape);
      ASSERT_EQ(back.bytes(), tensor.bytes());
      EXPECT_EQ(std::memcmp(back.data(), tensor.data(), tensor.bytes()), 0);
      // The data is aligned as numpy.lib.format asks.
      EXPECT_EQ((text.size() - tensor.bytes()) % 64, 0u);
    }
  }
}

TEST(Npy, WidensTypesThatNumpyLacks) {
  const Tensor bf16 = random_tensor(DType::bf16, {7}, 3);
  const Tensor wide = to_tensor(parse_npy(write_npy(bf16), "memory"), DType::f32, "x");
  for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(wide.get_double(i), bf16.get_double(i));
  const Tensor nibbles = random_tensor(DType::u4, {5}, 3);
  const Tensor back = to_tensor(parse_npy(write_npy(nibbles), "memory"), DType::u4, "x");
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(back.get_int64(i), nibbles.get_int64(i));
}

TEST(Npy, ReadsRawBitsAndFortranOrder) {
  const Tensor bits = to_tensor(parse_npy(npy_text("<V2", "(2,)", std::string("\x80\x3f\x00\x40", 4)), "m"),
                                DType::bf16, "x");
  EXPECT_EQ(bits.get_double(0), 1.0);
  EXPECT_EQ(bits.get_double(1), 2.0);
  // [[1, 2, 3], [4, 5, 6]] stored by columns.
  const Tensor matrix = to_tensor(
      parse_npy(npy_text("|i1", "(2, 3)", std::string("\1\4\2\5\3\6", 6), true), "m"), DType::i8, "x");
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(matrix.get_int64(i), i + 1);
}

TEST(Npy, RefusesWhatItCannotRead) {
  EXPECT_THROW(parse_npy("hello", "m"), UsageError);
  EXPECT_THROW(parse_npy(npy_text("|O", "(1,)", "12345678"), "m"), UsageError);
  EXPECT_THROW(parse_npy(npy_text("<U4", "(1,)", std::string(16, 'a')), "m"), UsageError);
  EXPECT_THROW(parse_npy(npy_text(">f4", "(1,)", "1234"), "m"), UsageError);
  EXPECT_THROW(parse_npy(npy_text("<f4", "(2,)", "1234"), "m"), UsageError);
  EXPECT_THROW(parse_npy(npy_text("<f4", "(9223372036854775807, 9)", "1234"), "m"), UsageError);
  EXPECT_THROW(to_tensor(parse_npy(npy_text("<f8", "(1,)", "12345678"), "m"), DType::f32, "x"),
               UsageError);
  const std::string good = npy_text("<f4", "(2,)", "12345678");
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(parse_npy(good.substr(0, size), "m"), UsageError) << size;
  }
}

TEST(Npz, RoundTrip) {
  const TemporaryDirectory directory;
  const std::vector<NamedTensor> tensors{{"x", random_tensor(DType::f32, {2, 3}, 1)},
                                         {"a/b:0", random_tensor(DType::i64, {4}, 2)}};
  write_npz(directory.file("t.npz"), tensors);
  const std::vector<NamedArray> arrays = read_npz(directory.file("t.npz"));
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[1].first, "a/b:0");
  EXPECT_EQ(arrays[1].second.shape, (std::vector<int64_t>{4}));
  EXPECT_EQ(std::memcmp(arrays[0].second.data.data(), tensors[0].second.data(), 24), 0);
  EXPECT_THROW(read_npz(directory.file("absent.npz")), EnvironmentError);
  EXPECT_THROW(write_npz("/nonexistent/t.npz", tensors), EnvironmentError);
}

std::string deflated(const std::string& data) {
  std::string out(data.size() + 100, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Turns a stored archive of one entry into a deflated one, as numpy.savez_compressed writes.
std::string compressed_archive(const std::string& data) {
  ZipWriter writer;
  writer.add("x.npy", data);
  std::string stored = writer.finish();
  const std::string packed = deflated(data);
  const size_t start = 30 + 5;
  const auto put = [&](std::string& text, size_t at, uint32_t value, int size) {
    for (int i = 0; i < size; ++i) text[at + static_cast<size_t>(i)] = static_cast<char>(value >> (8 * i));
  };
  std::string archive = stored.substr(0, start) + packed + stored.substr(start + data.size());
  const size_t central = start + packed.size();
  const auto size = static_cast<uint32_t>(packed.size());
  put(archive, 8, 8, 2);
  put(archive, 18, size, 4);
  put(archive, central + 10, 8, 2);
  put(archive, central + 20, size, 4);
  put(archive, archive.size() - 6, static_cast<uint32_t>(central), 4);
  return archive;
}

TEST(Zip, ReadsDeflatedEntries) {
  std::string data;
  for (int i = 0; i < 5000; ++i) data += std::to_string(i % 17);
  const std::vector<ZipEntry> entries = read_zip(compressed_archive(data), "memory");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].data, data);
}

TEST(Zip, DamageIsReportedAndNeverCrashes) {
  std::string data;
  for (int i = 0; i < 300; ++i) data += std::to_string(i * i);
  const std::string archive = compressed_archive(data);
  for (size_t size = 0; size < archive.size(); ++size) {
    EXPECT_THROW(read_zip(std::string_view(archive).substr(0, size), "m"), UsageError) << size;
  }
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = archive;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 8));
    try {
      for (const ZipEntry& entry : read_zip(damaged, "m")) EXPECT_EQ(entry.data, data);
    } catch (const UsageError&) {
    }
  }
}

}  // namespace
}  // namespace mcc::tools
