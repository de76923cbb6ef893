// The harness of the instruction tests.
#include "test/unit/sim/harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace mcc::sim::test {
namespace {

int width_of(const std::string& type) {
  return std::stoi(type.substr(type.find_first_of("0123456789")));
}
std::string register_type(const std::string& type) { return width_of(type) == 8 ? "b16" : type; }

std::string hex(uint64_t x) {
  char text[24];
  std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(x));
  return text;
}

std::vector<uint8_t> packed(const Column& column) {
  const size_t bytes = static_cast<size_t>(width_of(column.type)) / 8;
  std::vector<uint8_t> data(column.bits.size() * bytes);
  for (size_t i = 0; i < column.bits.size(); ++i)
    std::memcpy(data.data() + i * bytes, &column.bits[i], bytes);
  return data;
}

constexpr const char* kNames[] = {"%a", "%b", "%c", "%e"};

}  // namespace

std::vector<const char*> instruction_sets() {
  std::vector<const char*> usable;
  for (const char* name : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    try {
      Module::parse(".version 9.0\n.target sm_80\n.address_size 64\n", name);
      usable.push_back(name);
    } catch (const SimError&) {
      EXPECT_STRNE(name, "x86-64") << "every processor runs the base build";
    }
  }
  return usable;
}

Table cross(const std::vector<std::string>& types, const std::vector<Bits>& lists) {
  Table table;
  size_t rows = 1;
  for (const Bits& list : lists) rows *= list.size();
  size_t repeat = 1;
  for (size_t i = 0; i < lists.size(); ++i) {
    Column column{types[i], {}};
    column.bits.reserve(rows);
    for (size_t row = 0; row < rows; ++row)
      column.bits.push_back(lists[i][row / repeat % lists[i].size()]);
    repeat *= lists[i].size();
    table.push_back(std::move(column));
  }
  return table;
}

Table cross(const std::string& type, const std::vector<Bits>& lists) {
  return cross(std::vector<std::string>(lists.size(), type), lists);
}

void add_random(Table& table, size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < rows; ++i) {
    for (Column& column : table) {
      const int width = width_of(column.type);
      uint64_t x = random();
      if (i % 2 == 1) {
        const int shift = static_cast<int>(random() % static_cast<uint64_t>(width));
        const auto narrow = static_cast<int64_t>(x) >> (64 - width);
        x = (i & 2) != 0 ? static_cast<uint64_t>(narrow >> shift) : x << shift;
      }
      column.bits.push_back(width == 64 ? x : x & ((uint64_t{1} << width) - 1));
    }
  }
}

Bits integers(int width, int random) {
  Bits values = {0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 100, 0x7f, 0x80, 0xff, 0x100};
  for (int bits : {16, 24, 32, 64}) {
    if (bits > width) continue;
    const uint64_t top = uint64_t{1} << (bits - 1);
    for (uint64_t x : Bits{top - 1, top, top + 1, top | (top - 1), top << 1}) values.push_back(x);
  }
  for (uint64_t x : Bits{~uint64_t{0}, ~uint64_t{1}, ~uint64_t{6}, ~uint64_t{31},
                         0x5555555555555555ull, 0xaaaaaaaaaaaaaaaaull, 0x00ff00ff00ff00ffull,
                         0x8000800080008000ull, 0x7fff7fff7fff7fffull})
    values.push_back(x);
  std::mt19937_64 generator(static_cast<uint64_t>(width));
  for (int i = 0; i < random; ++i) values.push_back(generator());
  for (uint64_t& x : values) x = width == 64 ? x : x & ((uint64_t{1} << width) - 1);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Bits every(uint64_t count) {
  Bits all(count);
  for (uint64_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

Bits operator+(Bits a, const Bits& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string kernel_text(const std::string& body, const Table& table, const std::string& out,
                        const std::string& target) {
  std::string text = ".version 9.0\n.target " + target +
                     "\n.address_size 64\n.visible .entry k(.param .u32 count, .param .u64 result";
  for (size_t i = 0; i < table.size(); ++i) text += ", .param .u64 in" + std::to_string(i);
  text +=
      ") {\n.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %q<16>; .reg .b16 %h<16>; .reg .f32 "
      "%f<16>; .reg .f64 %g<16>;\n";
  text +=
      ".reg .pred %off; .reg .b32 %i, %j; .reg .b64 %at; .reg ." + register_type(out) + " %d;\n";
  text +=
      "mov.u32 %i, %ctaid.x; mov.u32 %j, %ntid.x; mul.lo.u32 %i, %i, %j; mov.u32 %j, %tid.x; "
      "add.u32 %i, %i, %j;\n";
  text += "ld.param.u32 %j, [count]; setp.ge.u32 %off, %i, %j; @%off exit;\n";
  for (size_t i = 0; i < table.size(); ++i) {
    const std::string name = kNames[i], &type = table[i].type;
    text += ".reg ." + register_type(type) + " " + name + "; ld.param.u64 %at, [in" +
            std::to_string(i) + "]; mad.wide.u32 %at, %i, " + std::to_string(width_of(type) / 8) +
            ", %at; ld.global." + type + " " + name + ", [%at];\n";
  }
  text += body + "\nld.param.u64 %at, [result]; mad.wide.u32 %at, %i, " +
          std::to_string(width_of(out) / 8) + ", %at; st.global." + out + " [%at], %d;\nret;\n}\n";
  return text;
}

Bits execute(const std::string& body, const Table& table, const std::string& out, const char* isa,
             const std::string& target) {
  const Module module = Module::parse(kernel_text(body, table, out, target), isa);
  Memory memory;
  const size_t rows = table[0].bits.size(), bytes = static_cast<size_t>(width_of(out)) / 8;
  const Address result = memory.allocate("result", rows * bytes);
  Arguments arguments;
  arguments.add(static_cast<uint32_t>(rows)).add(result);
  for (const Column& column : table) {
    const std::vector<uint8_t> data = packed(column);
    arguments.add(memory.upload("in", data.data(), data.size()));
  }
  LaunchOptions options;
  options.threads = 1;
  const uint32_t block = 224;
  const auto grid = static_cast<uint32_t>((rows + block - 1) / block);
  const LaunchReport report =
      launch(module, "k", memory, {grid, 1, 1}, {block, 1, 1}, 0, arguments, options);
  EXPECT_TRUE(report.clean()) << body << "\n" << report.text();
  Bits values(rows, 0);
  std::vector<uint8_t> data(rows * bytes);
  if (report.complete) memory.read(result, data.data(), data.size());
  for (size_t i = 0; i < rows; ++i) std::memcpy(&values[i], data.data() + i * bytes, bytes);
  return values;
}

void check(const std::string& body, const Table& table, const std::string& out,
           const Reference& reference, const Accept& accept) {
  const size_t rows = table[0].bits.size();
  const int width = width_of(out);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  Bits expected(rows);
  std::vector<uint64_t> row(table.size());
  const auto load = [&](size_t i) {
    for (size_t c = 0; c < table.size(); ++c) row[c] = table[c].bits[i];
    return row.data();
  };
  for (size_t i = 0; i < rows; ++i) expected[i] = reference(load(i)) & mask;
  for (const char* isa : instruction_sets()) {
    Bits got;
    try {
      got = execute(body, table, out, isa);
    } catch (const SimError& error) {
      ADD_FAILURE() << body << " on " << isa << ": " << error.what();
      return;
    }
    size_t wrong = 0;
    std::string examples;
    for (size_t i = 0; i < rows; ++i) {
      const Row at = load(i);
      if (accept ? accept(at, expected[i], got[i]) : got[i] == expected[i]) continue;
      if (++wrong > 4) continue;
      examples += "\n  (";
      for (size_t c = 0; c < table.size(); ++c) examples += (c == 0 ? "" : ", ") + hex(row[c]);
      examples += ") gives " + hex(got[i]) + " instead of " + hex(expected[i]);
    }
    EXPECT_EQ(wrong, 0u) << body << " on " << isa << ", of " << rows << " rows:" << examples;
  }
}

void refused(const std::string& body, const Table& table, const std::string& out,
             const std::string& part) {
  try {
    Module::parse(kernel_text(body, table, out, "sm_100a"));
    ADD_FAILURE() << body << " is accepted";
  } catch (const SimError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

LaunchReport run_kernel(const std::string& text, std::vector<uint8_t>& buffer, Dim3 grid,
                        Dim3 block, const char* isa, uint32_t dynamic_shared,
                        const LaunchOptions& options) {
  const Module module =
      Module::parse(".version 9.0\n.target sm_100a\n.address_size 64\n" + text, isa);
  Memory memory;
  const Address address = memory.upload("buffer", buffer.data(), buffer.size());
  Arguments arguments;
  arguments.add(address);
  LaunchReport report =
      launch(module, "k", memory, grid, block, dynamic_shared, arguments, options);
  memory.read(address, buffer.data(), buffer.size());
  return report;
}

}  // namespace mcc::sim::test
