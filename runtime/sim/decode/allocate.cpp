// Register slots. PTX has unlimited virtual registers; a warp's frame would outgrow the caches if
// each had its own. Live intervals over the linear code (liveness by data flow, Poletto and Sarkar's
// linear scan) share slots.
//
// Invariants: lanes never share values, so per-thread liveness is enough even though the paths of a
// divergent branch run one after the other. A result never gets the slot of a source of the same
// instruction: handlers may write lanes before they have read all others.
#include <algorithm>
#include <bit>

#include "runtime/sim/decode/flow.h"

namespace mcc::sim {
namespace {

void add_registers(const Operand& operand, std::vector<int>& out) {
  if (operand.reg >= 0) out.push_back(operand.reg);
  if (operand.second_reg >= 0) out.push_back(operand.second_reg);
  for (const Operand& item : operand.items) add_registers(item, out);
}

using Bits = std::vector<uint64_t>;
bool test(const Bits& bits, int i) { return ((bits[static_cast<size_t>(i) >> 6] >> (i & 63)) & 1u) != 0; }
void set(Bits& bits, int i) { bits[static_cast<size_t>(i) >> 6] |= uint64_t{1} << (i & 63); }
void clear(Bits& bits, int i) { bits[static_cast<size_t>(i) >> 6] &= ~(uint64_t{1} << (i & 63)); }

}  // namespace

void registers_of(const Statement& s, std::vector<int>& writes, std::vector<int>& reads) {
  writes.clear();
  reads.clear();
  if (s.guard >= 0) reads.push_back(s.guard);
  static constexpr std::string_view kNoResult[] = {"st", "red", "bra", "brx", "call", "ret", "exit", "nanosleep", "setmaxnreg", "stmatrix", "prefetch", "discard"};
  const std::string_view op = s.words[0];
  const bool barrier = (op == "bar" || op == "barrier") &&
                       std::find(s.words.begin(), s.words.end(), "red") == s.words.end();
  bool result = !barrier && std::find(std::begin(kNoResult), std::end(kNoResult), op) == std::end(kNoResult);
  for (size_t i = 0; i < s.operands.size(); ++i) {
    const Operand& operand = s.operands[i];
    const bool address = operand.kind == OperandKind::address;
    if (i == 0 && result && !address) add_registers(operand, writes);
    else add_registers(operand, reads);
  }
}

Allocation allocate_registers(const ParsedFunction& function, const Flow& flow) {
  const size_t count = function.registers.size(), words = (count + 63) / 64, n = flow.blocks.size();
  std::vector<Bits> use(n, Bits(words)), def(n, Bits(words)), in(n, Bits(words)), out(n, Bits(words));
  std::vector<int> writes, reads;
  for (size_t b = 0; b < n; ++b) {
    for (int i = flow.blocks[b].first; i < flow.blocks[b].end; ++i) {
      const Statement& s = function.statements[static_cast<size_t>(i)];
      registers_of(s, writes, reads);
      for (int r : reads) if (!test(def[b], r)) set(use[b], r);
      // A guarded write keeps the old value in other lanes: it is also a read.
      for (int r : writes) {
        if (s.guard >= 0 && !test(def[b], r)) set(use[b], r);
        if (s.guard < 0) set(def[b], r);
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = n; b-- > 0;) {
      for (int s : flow.blocks[b].successors) {
        for (size_t k = 0; k < words; ++k) out[b][k] |= in[static_cast<size_t>(s)][k];
      }
      for (size_t k = 0; k < words; ++k) {
        const uint64_t next = use[b][k] | (out[b][k] & ~def[b][k]);
        if (next != in[b][k]) {
          in[b][k] = next;
          changed = true;
        }
      }
    }
  }
  struct Interval { int first = INT32_MAX; int last = -1; };
  std::vector<Interval> intervals(count);
  auto touch = [&](int r, int at) {
    Interval& interval = intervals[static_cast<size_t>(r)];
    interval.first = std::min(interval.first, at);
    interval.last = std::max(interval.last, at);
  };
  std::vector<int> pressure(function.statements.size() + 1, 0);
  for (size_t b = 0; b < n; ++b) {
    const BasicBlock& block = flow.blocks[b];
    Bits live = out[b];
    int words_live = 0;
    auto size = [&](int r) { return std::max(1, size_of(function.registers[static_cast<size_t>(r)].type) / 4); };
    auto value = [&](int r) { return function.registers[static_cast<size_t>(r)].type != Type::pred; };
    for (size_t r = 0; r < count; ++r) {
      if (test(in[b], static_cast<int>(r))) touch(static_cast<int>(r), 2 * block.first);
      if (test(out[b], static_cast<int>(r))) {
        touch(static_cast<int>(r), 2 * block.end - 1);
        if (value(static_cast<int>(r))) words_live += size(static_cast<int>(r));
      }
    }
    for (int i = block.end; i-- > block.first;) {
      registers_of(function.statements[static_cast<size_t>(i)], writes, reads);
      for (int r : writes) {
        touch(r, 2 * i);
        touch(r, 2 * i + 1);
        if (test(live, r) && function.statements[static_cast<size_t>(i)].guard < 0) {
          clear(live, r);
          if (value(r)) words_live -= size(r);
        }
      }
      for (int r : reads) {
        touch(r, 2 * i);
        touch(r, 2 * i + 1);
        if (!test(live, r)) {
          set(live, r);
          if (value(r)) words_live += size(r);
        }
      }
      pressure[static_cast<size_t>(i)] = words_live;
    }
  }

  Allocation result;
  result.slot.assign(count, 0);
  result.peak_words = static_cast<uint32_t>(*std::max_element(pressure.begin(), pressure.end()));
  std::vector<int> order;
  for (size_t r = 0; r < count; ++r) {
    if (function.registers[r].type == Type::pred) result.slot[r] = static_cast<int32_t>(result.predicates++);
    else if (intervals[r].last >= 0) order.push_back(static_cast<int>(r));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Interval &x = intervals[static_cast<size_t>(a)], &y = intervals[static_cast<size_t>(b)];
    return x.first != y.first ? x.first < y.first : a < b;
  });
  struct Active { int last; int32_t slot; int klass; };
  std::vector<Active> active;
  std::vector<int32_t> free_slots[3];  // 128, 256 and 512 bytes
  for (int r : order) {
    const Interval& interval = intervals[static_cast<size_t>(r)];
    for (size_t k = 0; k < active.size();) {
      if (active[k].last < interval.first) {
        free_slots[active[k].klass].push_back(active[k].slot);
        active[k] = active.back();
        active.pop_back();
      } else {
        ++k;
      }
    }
    const int bytes = size_of(function.registers[static_cast<size_t>(r)].type);
    const int klass = bytes <= 4 ? 0 : bytes == 8 ? 1 : 2;
    int32_t slot;
    if (!free_slots[klass].empty()) {
      auto lowest = std::min_element(free_slots[klass].begin(), free_slots[klass].end());
      slot = *lowest;
      free_slots[klass].erase(lowest);
    } else {
      slot = static_cast<int32_t>(result.bytes);
      result.bytes += 128u << klass;
    }
    result.slot[static_cast<size_t>(r)] = slot;
    active.push_back({interval.last, slot, klass});
  }
  return result;
}

}  // namespace mcc::sim
