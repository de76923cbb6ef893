// vprintf and __assertfail: the two functions of the device runtime that kernels may call.
// The format and its arguments are read like any memory: a bad pointer prints nothing.
#include <cstdio>
#include <cstring>

#include "runtime/sim/core/state.h"

namespace mcc::sim {
namespace {

uint64_t parameter(const Warp& w, uint32_t word, int lane) {
  const uint32_t* p = w.params + (static_cast<size_t>(w.params_base) + word) * kLanes + static_cast<size_t>(lane);
  return p[0] | static_cast<uint64_t>(p[kLanes]) << 32;
}

bool read_byte(const Warp& w, uint64_t address, int lane, uint8_t& byte) {
  const uint64_t window = address >> kWindowShift, offset = address & kWindowMask;
  if (window == 2) {
    if (offset >= uint64_t{w.local_words} * 4) return false;
    byte = static_cast<uint8_t>(w.local[(offset >> 2) * kLanes + static_cast<uint64_t>(lane)] >> (8 * (offset & 3u)));
    return true;
  }
  if (window == 1) {
    if (offset >= w.block->shared_bytes) return false;
    byte = w.block->shared[offset];
    return true;
  }
  if (window >= w.block->window_count || w.block->windows[window].host == nullptr || offset >= w.block->windows[window].bytes) return false;
  byte = w.block->windows[window].host[offset];
  return true;
}

std::string read_text(const Warp& w, uint64_t address, int lane) {
  std::string text;
  uint8_t byte = 0;
  while (text.size() < 4096 && read_byte(w, address + text.size(), lane, byte) && byte != 0) text += static_cast<char>(byte);
  return text;
}

uint64_t read_value(const Warp& w, uint64_t address, int bytes, int lane) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    uint8_t byte = 0;
    if (read_byte(w, address + static_cast<uint64_t>(i), lane, byte)) value |= static_cast<uint64_t>(byte) << (8 * i);
  }
  return value;
}

template <class... T>
std::string print(const std::string& spec, T... values) {
  char buffer[512];
  const int n = std::snprintf(buffer, sizeof buffer, spec.c_str(), values...);
  return n > 0 ? std::string(buffer, static_cast<size_t>(std::min<int>(n, sizeof buffer - 1))) : "";
}

// One conversion at a time; the specification is rebuilt from what is allowed, so no format text of
// the kernel reaches the host's printf unchecked.
std::string format(const Warp& w, const std::string& text, uint64_t arguments, int lane) {
  std::string out;
  uint64_t at = 0;
  auto take = [&](int bytes) {
    at = (at + static_cast<uint64_t>(bytes) - 1) / static_cast<uint64_t>(bytes) * static_cast<uint64_t>(bytes);
    const uint64_t value = read_value(w, arguments + at, bytes, lane);
    at += static_cast<uint64_t>(bytes);
    return value;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '%') {
      out += '%';
      ++i;
      continue;
    }
    std::string spec = "%";
    size_t k = i + 1;
    while (k < text.size() && spec.size() < 24 && std::strchr("-+ #0123456789.", text[k]) != nullptr && text[k] != '\0') spec += text[k++];
    int longs = 0;
    while (k < text.size() && (text[k] == 'l' || text[k] == 'h' || text[k] == 'z' || text[k] == 'j')) longs += text[k++] == 'h' ? 0 : 1;
    if (k >= text.size()) break;
    const char c = text[k];
    i = k;
    if (std::strchr("dic", c) != nullptr || std::strchr("uxXo", c) != nullptr) {
      const uint64_t raw = take(longs > 0 ? 8 : 4);
      if (c == 'c') out += print(spec + "c", static_cast<int>(raw));
      else if (c == 'd' || c == 'i') out += print(spec + "lld", longs > 0 ? static_cast<long long>(raw) : static_cast<long long>(static_cast<int32_t>(raw)));
      else out += print(spec + "ll" + c, static_cast<unsigned long long>(raw));
    } else if (std::strchr("fFeEgGaA", c) != nullptr) {
      const uint64_t raw = take(8);
      double value;
      std::memcpy(&value, &raw, 8);
      out += print(spec + c, value);
    } else if (c == 's') {
      out += print(spec + "s", read_text(w, take(8), lane).c_str());
    } else if (c == 'p') {
      out += print("0x%llx", static_cast<unsigned long long>(take(8)));
    }
  }
  return out;
}

}  // namespace

void print_formatted(Warp& w, const Inst& in, const CallSite& site) {
  LaunchState& state = launch_of(w);
  std::string text;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    if (site.builtin == "vprintf" && site.argument_words.size() == 2) {
      text += format(w, read_text(w, parameter(w, site.argument_words[0], lane), lane), parameter(w, site.argument_words[1], lane), lane);
    } else if (site.builtin == "__assertfail" && site.argument_words.size() >= 4) {
      text += read_text(w, parameter(w, site.argument_words[1], lane), lane) + ":" +
              std::to_string(static_cast<uint32_t>(parameter(w, site.argument_words[2], lane))) + ": assertion '" +
              read_text(w, parameter(w, site.argument_words[0], lane), lane) + "' failed\n";
    }
    if (!site.return_words.empty()) w.params[(static_cast<size_t>(w.params_base) + site.return_words[0]) * kLanes + static_cast<size_t>(lane)] = 0;
  }
  (void)in;
  const uint64_t block = (uint64_t{w.block->id[2]} * state.grid.y + w.block->id[1]) * state.grid.x + w.block->id[0];
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.output[block] += text;
}

}  // namespace mcc::sim
