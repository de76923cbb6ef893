// Control flow at run time: divergence and reconvergence, calls, exits, barriers.
//
// Invariants of the reconvergence stack: masks of entries are disjoint from the active mask except
// for joins and calls, which contain the masks of the paths above them; lanes that exit leave every
// entry, lanes that return leave every entry above their call.
#include <algorithm>

#include "runtime/sim/core/state.h"
#include "runtime/sim/decode/decoder.h"

namespace mcc::sim {

void print_formatted(Warp& w, const Inst& in, const CallSite& site);
void reconverge(Warp& w);

namespace {

void push(Warp& w, const StackEntry& entry) {
  if (w.depth == w.capacity) {
    Worker& worker = worker_of(w);
    std::vector<StackEntry>& stack = worker.buffers[w.index].stack;
    stack.resize(static_cast<size_t>(w.capacity) * 2 + 16);
    w.stack = stack.data();
    w.capacity = static_cast<int32_t>(stack.size());
  }
  w.stack[w.depth++] = entry;
}

void jump(Warp& w, const Inst& in, int32_t target) {
  w.pc = target;
  // Only backward jumps can make a loop: the place to hand over to other warps.
  if (target <= in.index && w.executed >= w.budget) w.event = Event::budget;
}

// w.mask: the lanes that jump.
void branch(Warp& w, const Inst& in) {
  const uint32_t taken = w.mask, stay = w.active & ~taken;
  if (stay == 0) return jump(w, in, in.target);
  w.stats[in.index].diverged += 1;
  if (in.reconverge >= 0) push(w, {in.reconverge, w.reconverge, w.active, EntryKind::join});
  push(w, {w.pc, in.reconverge, stay, EntryKind::path});
  w.active = taken;
  w.reconverge = in.reconverge;
  jump(w, in, in.target);
}

// One lane's target after the other; lanes that go to the same place go together.
void indexed_branch(Warp& w, const Inst& in) {
  const uint8_t* base = in.a < 0 ? w.constants : w.registers;
  const auto* index = reinterpret_cast<const uint32_t*>(base + (in.a & 0x7fffffff));
  const uint32_t all = w.mask;
  const uint32_t first = index[__builtin_ctz(all)];
  if (first >= static_cast<uint64_t>(in.imm)) {
    report_warp(w, in, FindingKind::invalid_instruction, "the index is outside the branch table");
    return stop_block(w);
  }
  uint32_t same = 0;
  for (uint32_t m = all; m != 0; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    if (index[lane] == first) same |= 1u << lane;
  }
  const uint32_t others = w.active & ~same;
  if (others != 0) {
    w.stats[in.index].diverged += 1;
    if (in.reconverge >= 0) push(w, {in.reconverge, w.reconverge, w.active, EntryKind::join});
    const uint32_t guarded_off = w.active & ~all;
    // Lanes whose guard is false fall through; the rest come back to this instruction.
    if (guarded_off != 0) push(w, {w.pc, in.reconverge, guarded_off, EntryKind::path});
    if ((all & ~same) != 0) push(w, {in.index, in.reconverge, all & ~same, EntryKind::path});
    w.active = same;
    w.reconverge = in.reconverge;
  }
  jump(w, in, in.list[first]);
}

void leave_entries(Warp& w, uint32_t lanes, bool whole) {
  for (int32_t i = w.depth - 1; i >= 0; --i) {
    if (!whole && w.stack[i].kind == EntryKind::call) break;
    w.stack[i].mask &= ~lanes;
  }
}

void exit_thread(Warp& w, const Inst&) {
  w.live &= ~w.mask;
  w.active &= ~w.mask;
  leave_entries(w, w.mask, true);
  if (w.active == 0) reconverge(w);
}

uint32_t* frame_words(Warp& w, uint32_t base) { return w.params + static_cast<size_t>(base) * kLanes; }

void copy_words(uint32_t* to, const uint32_t* from, uint32_t words, uint32_t mask) {
  for (uint32_t k = 0; k < words; ++k) {
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      to[k * kLanes + static_cast<uint32_t>(lane)] = from[k * kLanes + static_cast<uint32_t>(lane)];
    }
  }
}

void set_frame(Warp& w, uint32_t registers, uint32_t predicates, uint32_t params, uint32_t local) {
  w.registers = w.register_file + registers;
  w.predicates = w.predicate_file + predicates;
  w.params_base = params;
  w.local_base = local;
}

void enter(Warp& w, const Inst& in, int function, const CallSite& site) {
  LaunchState& state = launch_of(w);
  const FunctionInfo& caller = state.program->functions[static_cast<size_t>(w.function)];
  const FunctionInfo& callee = state.program->functions[static_cast<size_t>(function)];
  StackEntry entry;
  entry.pc = w.pc;
  entry.reconverge = w.reconverge;
  entry.mask = w.active;
  entry.kind = EntryKind::call;
  entry.frame_registers = static_cast<uint32_t>(w.registers - w.register_file);
  entry.frame_predicates = static_cast<uint32_t>(w.predicates - w.predicate_file);
  entry.frame_params = w.params_base;
  entry.frame_local = w.local_base;
  entry.function = w.function;
  entry.call_site = in.index;
  const uint32_t registers = entry.frame_registers + caller.register_bytes;
  const uint32_t predicates = entry.frame_predicates + caller.predicates;
  const uint32_t params = entry.frame_params + caller.param_words;
  const uint32_t local = entry.frame_local + caller.local_bytes;
  // The hardware's stack is a few kilobytes by default; runaway recursion is the kernel's error.
  if (w.depth > 4096) {
    report_warp(w, in, FindingKind::no_progress, "the call depth exceeds 4096: endless recursion");
    return stop_block(w);
  }
  WarpBuffers& buffers = worker_of(w).buffers[w.index];
  buffers.registers.grow(registers + callee.register_bytes);
  if (buffers.predicates.size() < predicates + callee.predicates) buffers.predicates.resize((predicates + callee.predicates) * 2);
  buffers.params.grow((static_cast<size_t>(params) + callee.param_words + 4) * kLanes * 4);
  buffers.local.grow((static_cast<size_t>(local) + callee.local_bytes + 16) * kLanes);
  w.local_words = (local + callee.local_bytes) / 4;
  if (buffers.local_init.size() < static_cast<size_t>(w.local_words) * kLanes) buffers.local_init.resize(static_cast<size_t>(w.local_words) * kLanes * 2);
  std::fill(buffers.local_init.begin() + static_cast<std::ptrdiff_t>(local / 4 * kLanes), buffers.local_init.begin() + static_cast<std::ptrdiff_t>(w.local_words * kLanes), uint8_t{0});
  w.register_file = buffers.registers.data();
  w.predicate_file = buffers.predicates.data();
  w.params = reinterpret_cast<uint32_t*>(buffers.params.data());
  w.local = reinterpret_cast<uint32_t*>(buffers.local.data());
  w.local_init = buffers.local_init.data();
  // Lanes that do not call wait at the return: they are in the join that their guard needs.
  const uint32_t called = w.mask;
  if (called != w.active) {
    push(w, {w.pc, w.reconverge, w.active, EntryKind::join});
    entry.mask = called;
    entry.reconverge = w.pc;
  }
  push(w, entry);
  for (const CallSite::Copy& copy : site.arguments) {
    copy_words(frame_words(w, params) + copy.to * kLanes, frame_words(w, entry.frame_params) + copy.from * kLanes, copy.words, called);
  }
  set_frame(w, registers, predicates, params, local);
  w.function = function;
  w.active = called;
  w.reconverge = -1;
  w.pc = callee.first;
}

void call(Warp& w, const Inst& in) {
  const CallSite& site = launch_of(w).program->calls[static_cast<size_t>(in.imm)];
  enter(w, in, site.function, site);
}

void call_indirect(Warp& w, const Inst& in) {
  LaunchState& state = launch_of(w);
  const auto* target = reinterpret_cast<const uint64_t*>(w.registers + in.a);
  const uint64_t number = target[__builtin_ctz(w.mask)];
  if (number == 0 || number > state.program->functions.size() || !state.program->functions[number - 1].defined || state.program->functions[number - 1].entry) {
    report_warp(w, in, FindingKind::invalid_instruction, "the called address is not a function");
    return stop_block(w);
  }
  uint32_t same = 0;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    if (target[lane] == number) same |= 1u << lane;
  }
  const FunctionInfo& callee = state.program->functions[number - 1];
  CallSite site = state.program->calls[static_cast<size_t>(in.imm)];
  if (callee.params.size() != site.argument_words.size() || callee.returns.size() != site.return_words.size()) {
    report_warp(w, in, FindingKind::invalid_instruction, "the called function has other parameters");
    return stop_block(w);
  }
  for (size_t i = 0; i < callee.params.size(); ++i) {
    site.arguments.push_back({site.argument_words[i], static_cast<uint32_t>(callee.params[i].offset / 4), static_cast<uint32_t>((callee.params[i].bytes + 3) / 4)});
  }
  if (same != w.mask) {
    // The others come back to this instruction; everybody meets after it.
    push(w, {w.pc, w.reconverge, w.active, EntryKind::join});
    push(w, {in.index, w.pc, w.mask & ~same, EntryKind::path});
    w.active = same;
    w.reconverge = w.pc;
    w.mask = same;
  }
  enter(w, in, static_cast<int>(number - 1), site);
}

// ret of a device function: results go to the caller's frame, lanes wait in the call entry.
void return_lanes(Warp& w, const Inst&) {
  int32_t at = w.depth - 1;
  while (at >= 0 && w.stack[at].kind != EntryKind::call) --at;
  LaunchState& state = launch_of(w);
  if (at >= 0) {
    const StackEntry& entry = w.stack[at];
    const Inst& caller = state.code[entry.call_site];
    const CallSite& site = state.program->calls[static_cast<size_t>(caller.imm)];
    const FunctionInfo& callee = state.program->functions[static_cast<size_t>(w.function)];
    for (size_t i = 0; i < callee.returns.size() && i < site.return_words.size(); ++i) {
      copy_words(frame_words(w, entry.frame_params) + site.return_words[i] * kLanes,
                 frame_words(w, w.params_base) + static_cast<uint32_t>(callee.returns[i].offset / 4) * kLanes,
                 static_cast<uint32_t>((callee.returns[i].bytes + 3) / 4), w.mask);
    }
  }
  w.active &= ~w.mask;
  leave_entries(w, w.mask, false);
  if (w.active == 0) reconverge(w);
}

void trap(Warp& w, const Inst& in) {
  report_warp(w, in, FindingKind::trap, "the kernel executed a trap");
  stop_block(w);
}

void call_builtin(Warp& w, const Inst& in) {
  const CallSite& site = launch_of(w).program->calls[static_cast<size_t>(in.imm)];
  print_formatted(w, in, site);
  if (site.builtin == "__assertfail") {
    report_warp(w, in, FindingKind::trap, "an assertion of the kernel failed");
    stop_block(w);
  }
}

void fence_memory(Warp& w, const Inst&) {
  if (launch_of(w).checks) fence(w);
}

void warp_barrier(Warp& w, const Inst& in) {
  const uint8_t* base = in.a < 0 ? w.constants : w.registers;
  const uint32_t mask = reinterpret_cast<const uint32_t*>(base + (in.a & 0x7fffffff))[__builtin_ctz(w.mask)];
  if ((mask & w.live) != w.mask) {
    report_warp(w, in, FindingKind::divergent_barrier, "not all lanes that the mask names are here together");
  }
  synchronize_warp(w);
}

// Lets another path of the warp run while this one waits at a barrier that does not need the whole
// warp together. False when there is no other path.
bool switch_path(Warp& w) {
  if (w.depth == 0 || w.stack[w.depth - 1].kind != EntryKind::path) return false;
  StackEntry& other = w.stack[w.depth - 1];
  if ((other.mask & ~w.arrived_mask) == 0) return false;
  const StackEntry mine{w.pc, w.reconverge, w.active, EntryKind::path};
  w.pc = other.pc;
  w.reconverge = other.reconverge;
  w.active = other.mask;
  other = mine;
  return true;
}

void block_barrier(Warp& w, const Inst& in) {
  const auto operand = [&](int32_t at) {
    const uint8_t* base = at < 0 ? w.constants : w.registers;
    return reinterpret_cast<const uint32_t*>(base + (at & 0x7fffffff))[__builtin_ctz(w.mask)];
  };
  const uint32_t id = operand(in.a), count = (in.flags & 2) != 0 ? operand(in.b) : 0;
  if (id >= kBarriers) {
    report_warp(w, in, FindingKind::invalid_instruction, "the barrier's number is above 15");
    return stop_block(w);
  }
  if (count % kLanes != 0) {
    report_warp(w, in, FindingKind::invalid_instruction, "the thread count of a barrier must be a multiple of 32");
    return stop_block(w);
  }
  w.arrived_mask |= w.mask;
  if ((w.arrived_mask & w.live) != w.live) {
    if ((in.flags & 1) != 0 || !switch_path(w)) {
      report_warp(w, in, FindingKind::divergent_barrier, "a part of the warp reaches a barrier that the rest does not reach with it");
      return stop_block(w);
    }
    return;
  }
  arrive_at_barrier(w, in, id, count);
}

}  // namespace

// The current path has ended, at its reconvergence point or because no lane is left: continue with
// the next entry that has lanes.
void reconverge(Warp& w) {
  while (w.depth > 0) {
    const StackEntry entry = w.stack[--w.depth];
    if (entry.kind == EntryKind::call) {
      set_frame(w, entry.frame_registers, entry.frame_predicates, entry.frame_params, entry.frame_local);
      w.function = entry.function;
      w.local_words =
          (entry.frame_local +
           launch_of(w).program->functions[static_cast<size_t>(entry.function)].local_bytes) /
          4;
    }
    const uint32_t mask = entry.mask & w.live;
    if (mask == 0) continue;
    w.pc = entry.pc;
    w.reconverge = entry.reconverge;
    w.active = mask;
    return;
  }
  w.active = 0;
  w.event = Event::exited;
}

Handler select_control(Op op, const Form&) {
  switch (op) {
    case Op::bra: return &branch;
    case Op::brx: return &indexed_branch;
    case Op::call: return &call;
    case Op::call_indirect: return &call_indirect;
    case Op::call_printf: return &call_builtin;
    case Op::ret: return &return_lanes;
    case Op::exit: return &exit_thread;
    case Op::trap: return &trap;
    case Op::fence: return &fence_memory;
    case Op::bar_warp: return &warp_barrier;
    case Op::bar_sync: return &block_barrier;
    default: return [](Warp&, const Inst&) {};
  }
}

}  // namespace mcc::sim
