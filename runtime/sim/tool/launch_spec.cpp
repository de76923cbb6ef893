// Parsing of launch and argument texts.
#include "runtime/sim/tool/launch_spec.h"

#include <cstring>
#include <sstream>

#include "runtime/sim/tool/npy.h"

namespace mcc::sim {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

uint64_t number(const std::string& text) {
  uint64_t product = 1;
  for (const std::string& factor : split(text, '*')) {
    size_t used = 0;
    unsigned long long value = 0;
    try {
      value = std::stoull(factor, &used, 0);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != factor.size()) throw SimError("'" + text + "' is not a count");
    product *= value;
  }
  return product;
}

Dim3 dimensions(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.empty() || parts.size() > 3) throw SimError("'" + text + "' is not one to three dimensions");
  Dim3 d;
  uint32_t* to[] = {&d.x, &d.y, &d.z};
  for (size_t i = 0; i < parts.size(); ++i) *to[i] = static_cast<uint32_t>(number(parts[i]));
  return d;
}

struct Scalar {
  char kind = 'f';  // i, u, f, h (f16), b (bf16)
  int bytes = 4;
  std::string dtype() const { return std::string(kind == 'h' ? "f" : kind == 'b' ? "u" : std::string(1, kind)) + std::to_string(bytes); }
};

Scalar scalar_type(const std::string& name) {
  if (name == "f16") return {'h', 2};
  if (name == "bf16") return {'b', 2};
  if (name.size() >= 2 && (name[0] == 'i' || name[0] == 'u' || name[0] == 'f')) {
    const int bits = std::atoi(name.c_str() + 1);
    const bool known = bits == 32 || bits == 64 || (name[0] != 'f' && (bits == 8 || bits == 16));
    if (known) return {name[0], bits / 8};
  }
  throw SimError("'" + name + "' is not a type; there are i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64");
}

uint16_t to_half(float f) {
  const _Float16 half = static_cast<_Float16>(f);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}
uint16_t to_bfloat(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

std::vector<std::byte> encode(const Scalar& type, double value, int64_t integer) {
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes));
  if (type.kind == 'f' && type.bytes == 8) {
    std::memcpy(bytes.data(), &value, 8);
  } else if (type.kind == 'f') {
    const auto single = static_cast<float>(value);
    std::memcpy(bytes.data(), &single, 4);
  } else if (type.kind == 'h' || type.kind == 'b') {
    const uint16_t bits = type.kind == 'h' ? to_half(static_cast<float>(value)) : to_bfloat(static_cast<float>(value));
    std::memcpy(bytes.data(), &bits, 2);
  } else {
    std::memcpy(bytes.data(), &integer, bytes.size());
  }
  return bytes;
}

bool is_npy(const std::string& path) { return path.size() > 4 && path.compare(path.size() - 4, 4, ".npy") == 0; }

}  // namespace

LaunchSpec parse_launch(const std::string& text) {
  LaunchSpec spec;
  std::stringstream stream(text);
  for (std::string word; stream >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) throw SimError("'" + word + "' in the launch is not KEY=VALUE");
    const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "kernel") spec.kernel = value;
    else if (key == "grid") spec.grid = dimensions(value);
    else if (key == "block") spec.block = dimensions(value);
    else if (key == "shared") spec.shared_bytes = static_cast<uint32_t>(number(value));
    else if (key == "seed") spec.options.seed = number(value);
    else if (key == "threads") spec.options.threads = static_cast<int>(number(value));
    else if (key == "checks") spec.options.checks = number(value) != 0;
    else if (key == "counters") spec.options.counters = number(value) != 0;
    else throw SimError("the launch has no key '" + key + "'; there are kernel, grid, block, shared, seed, threads, checks, counters");
  }
  return spec;
}

ArgumentSet::ArgumentSet(Memory& memory, const std::vector<std::string>& texts) : memory_(memory) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string name = "arg" + std::to_string(i);
    const std::vector<std::string> parts = split(texts[i], ':');
    const auto wrong = [&](const std::string& why) { return SimError("argument " + std::to_string(i) + " ('" + texts[i] + "'): " + why); };
    if (parts.empty()) throw wrong("it is empty");
    const std::string& kind = parts[0];
    if (kind == "null") {
      arguments_.add(uint64_t{0});
    } else if (kind == "in" || kind == "inout") {
      if (parts.size() < 2) throw wrong("a file is missing");
      NpyArray array;
      if (is_npy(parts[1])) array = read_npy(parts[1]);
      else array.data = read_bytes(parts[1]);
      const Address address = memory.upload(name, array.data.data(), array.data.size());
      arguments_.add(address);
      if (parts.size() > 2) outputs_.push_back({address, array.data.size(), array.dtype.empty() ? "u1" : array.dtype, parts[2], array.shape});
    } else if (kind == "out" || kind == "zeros" || kind == "iota" || kind == "random") {
      if (parts.size() < 3) throw wrong("it needs a type and a count");
      const Scalar type = scalar_type(parts[1]);
      const size_t count = number(parts[2]), bytes = count * static_cast<size_t>(type.bytes);
      const Address address = memory.allocate(name, bytes);
      uint64_t state = kind == "random" && parts.size() > 3 ? number(parts[3]) * 2 + 1 : 0x9e3779b97f4a7c15ull;
      std::vector<std::byte> data;
      for (size_t k = 0; k < count && kind != "out"; ++k) {
        double value = 0;
        int64_t integer = 0;
        if (kind == "iota") {
          value = static_cast<double>(k);
          integer = static_cast<int64_t>(k);
        } else if (kind == "random") {
          state = state * 6364136223846793005ull + 1442695040888963407ull;
          value = static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
          integer = static_cast<int64_t>((state >> 33) % 201) - 100;
          if (type.kind == 'u') integer = (integer + 100) / 2;
        }
        const std::vector<std::byte> one = encode(type, value, integer);
        data.insert(data.end(), one.begin(), one.end());
      }
      if (!data.empty()) memory.write(address, data.data(), data.size());
      arguments_.add(address);
      if (kind != "random" && parts.size() > 3) outputs_.push_back({address, bytes, type.dtype(), parts[3], {static_cast<int64_t>(count)}});
    } else {
      if (parts.size() != 2) throw wrong("it is none of TYPE:VALUE, null, in, inout, out, zeros, iota, random");
      const Scalar type = scalar_type(kind);
      try {
        const bool integer = type.kind == 'i' || type.kind == 'u';
        const std::vector<std::byte> bytes = encode(type, integer ? 0.0 : std::stod(parts[1]), integer ? (type.kind == 'u' ? static_cast<int64_t>(std::stoull(parts[1], nullptr, 0)) : std::stoll(parts[1], nullptr, 0)) : 0);
        arguments_.add_bytes(bytes.data(), bytes.size());
      } catch (const std::logic_error&) {
        throw wrong("the value is not a number of that type");
      }
    }
  }
}

void ArgumentSet::save() const {
  for (const Output& output : outputs_) {
    NpyArray array;
    array.data.resize(output.bytes);
    memory_.read(output.address, array.data.data(), array.data.size());
    if (!is_npy(output.path)) {
      write_bytes(output.path, array.data);
      continue;
    }
    array.dtype = output.dtype;
    array.shape = output.shape.empty() ? std::vector<int64_t>{static_cast<int64_t>(output.bytes)} : output.shape;
    write_npy(output.path, array);
  }
}

}  // namespace mcc::sim
