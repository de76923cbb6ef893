// Findings: naming places and merging repetitions. One finding per instruction and kind; the first
// one in block and thread order is the example that is kept.
#include "runtime/sim/check/report.h"

#include <algorithm>

#include "runtime/sim/core/state.h"

namespace mcc::sim {
namespace {

std::string triple(const Dim3& d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

Dim3 thread_index(const LaunchState& state, uint32_t thread) {
  return {thread % state.block.x, thread / state.block.x % state.block.y, thread / state.block.x / state.block.y};
}

uint64_t rank(const LaunchState& state, const Finding& f) {
  const uint64_t block = (uint64_t{f.block.z} * state.grid.y + f.block.y) * state.grid.x + f.block.x;
  const uint64_t thread = (uint64_t{f.thread.z} * state.block.y + f.thread.y) * state.block.x + f.thread.x;
  return block * 2048 + thread;
}

void add(Warp& w, const Inst& in, FindingKind kind, uint32_t thread, Finding finding) {
  LaunchState& state = launch_of(w);
  const auto at = static_cast<size_t>(in.index);
  const Program& program = *state.program;
  finding.kind = kind;
  finding.kernel = state.kernel->name;
  finding.ptx_line = program.lines[at];
  finding.instruction = program.texts[at];
  auto file = program.files.find(program.locations[at].file);
  if (file != program.files.end()) finding.source_file = file->second;
  finding.source_line = program.locations[at].line;
  finding.block = {w.block->id[0], w.block->id[1], w.block->id[2]};
  finding.thread = thread_index(state, thread);
  const std::lock_guard<std::mutex> lock(state.mutex);
  auto known = state.findings.find({kind, in.index});
  if (known == state.findings.end()) {
    if (state.findings.size() >= state.options->max_findings) {
      state.stop = true;
      return;
    }
    state.findings.emplace(FindingKey{kind, in.index}, std::move(finding));
    return;
  }
  const uint64_t count = known->second.count + 1;
  if (rank(state, finding) < rank(state, known->second)) known->second = std::move(finding);
  known->second.count = count;
}

// The buffer an address belongs to or lies next to, and the place in words.
void locate(const LaunchState& state, const Access& access, Finding& finding) {
  if (access.space != Space::global) {
    finding.address = access.address;
    finding.buffer = access.space == Space::shared ? "shared memory" : access.space == Space::local ? "local memory" : "parameters";
    return;
  }
  const uint64_t index = access.address >> kWindowShift;
  finding.address = access.address & kWindowMask;
  // Before the start of a buffer: the subtraction has left its window for the one below.
  if (index + 1 < state.windows.size() && !state.window_names[index + 1].empty() &&
      finding.address > kWindowMask / 2 &&
      (index >= state.windows.size() || finding.address >= state.windows[index].bytes)) {
    finding.buffer = state.window_names[index + 1];
    finding.address = access.address - ((index + 1) << kWindowShift);
    return;
  }
  if (index < state.windows.size() && !state.window_names[index].empty()) {
    finding.buffer = state.window_names[index];
    return;
  }
  finding.address = access.address;
}

std::string place_text(const LaunchState& state, const Access& access, const Finding& finding) {
  if (finding.buffer.empty()) {
    return access.address < 4096 ? "at address " + std::to_string(access.address) + " (a null pointer)"
                                 : "at address " + std::to_string(access.address) + ", which belongs to no buffer";
  }
  const auto offset = static_cast<int64_t>(finding.address);
  std::string text = "at byte " + std::to_string(offset) + " of " + finding.buffer;
  if (access.space == Space::global) {
    const uint64_t index = offset < 0 ? (access.address >> kWindowShift) + 1 : access.address >> kWindowShift;
    text += " (" + std::to_string(state.windows[index].bytes) + " bytes)";
  } else if (access.space == Space::shared) {
    text += " (" + std::to_string(state.shared_bytes) + " bytes)";
  }
  return text;
}

}  // namespace

void report_access(Warp& w, const Inst& in, int lane, FindingKind kind, const Access& access) {
  const LaunchState& state = launch_of(w);
  Finding finding;
  locate(state, access, finding);
  const std::string size = std::to_string(access.bytes) + "-byte ";
  const std::string what = access.write ? "write " : "read ";
  switch (kind) {
    case FindingKind::out_of_bounds: finding.message = size + what + "out of bounds " + place_text(state, access, finding); break;
    case FindingKind::misaligned: finding.message = size + what + "misaligned " + place_text(state, access, finding); break;
    case FindingKind::uninitialised_read: {
      finding.message = "read of uninitialised memory: " + size + "read " + place_text(state, access, finding);
      if (access.space == Space::shared) {
        for (uint64_t at = access.address >> 2; at <= (access.address + static_cast<uint64_t>(access.bytes) - 1) >> 2; ++at) {
          if ((w.block->shared_init[at] & 0xf0u) == 0) continue;
          kind = FindingKind::pending_copy;
          finding.message = "read of the destination of an asynchronous copy that nobody has waited for: " + size + "read " + place_text(state, access, finding);
          break;
        }
      }
      break;
    }
    default: finding.message = size + "write to read-only memory " + place_text(state, access, finding); break;
  }
  add(w, in, kind, w.thread_base + static_cast<uint32_t>(lane), std::move(finding));
}

void report_warp(Warp& w, const Inst& in, FindingKind kind, const char* message) {
  const uint32_t lanes = w.mask != 0 ? w.mask : w.active != 0 ? w.active : 1u;
  report_lane(w, in, __builtin_ctz(lanes), kind, message);
}

void report_lane(Warp& w, const Inst& in, int lane, FindingKind kind, const char* message) {
  Finding finding;
  finding.message = message;
  add(w, in, kind, w.thread_base + static_cast<uint32_t>(lane), std::move(finding));
}

void report_race(Warp& w, const Inst& in, int lane, bool old_is_write, const Access& access, uint32_t other_thread, int64_t other_block) {
  const LaunchState& state = launch_of(w);
  Finding finding;
  locate(state, access, finding);
  std::string other = "thread " + triple(thread_index(state, other_thread));
  if (other_block >= 0) {
    const auto b = static_cast<uint64_t>(other_block);
    const Dim3 id{static_cast<uint32_t>(b % state.grid.x), static_cast<uint32_t>(b / state.grid.x % state.grid.y), static_cast<uint32_t>(b / state.grid.x / state.grid.y)};
    other += " of block " + triple(id);
  }
  finding.message = std::string("this ") + (access.write ? "write" : "read") + " " + place_text(state, access, finding) +
                    " is not ordered after a " + (old_is_write ? "write" : "read") + " by " + other;
  add(w, in, FindingKind::race, w.thread_base + static_cast<uint32_t>(lane), std::move(finding));
}

const char* finding_name(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds: return "out-of-bounds";
    case FindingKind::misaligned: return "misaligned";
    case FindingKind::uninitialised_read: return "uninitialised-read";
    case FindingKind::read_only_write: return "read-only-write";
    case FindingKind::race: return "race";
    case FindingKind::divergent_barrier: return "divergent-barrier";
    case FindingKind::deadlock: return "deadlock";
    case FindingKind::launch_limit: return "launch-limit";
    case FindingKind::trap: return "trap";
    case FindingKind::pending_copy: return "pending-copy";
    case FindingKind::invalid_instruction: return "invalid-instruction";
    case FindingKind::no_progress: return "no-progress";
    case FindingKind::nondeterministic: return "nondeterministic";
    case FindingKind::invalid_argument: return "invalid-argument";
  }
  return "finding";
}

std::string Finding::text() const {
  std::string text = std::string(finding_name(kind)) + ": kernel " + kernel;
  if (ptx_line > 0) text += ", PTX line " + std::to_string(ptx_line) + " (" + instruction + ")";
  if (!source_file.empty() && source_line > 0) text += ", " + source_file + ":" + std::to_string(source_line);
  if (ptx_line > 0) text += ", block " + triple(block) + " thread " + triple(thread);
  text += ": " + message;
  if (count > 1) text += " [" + std::to_string(count) + " times]";
  return text;
}

std::string LaunchReport::text() const {
  std::string text;
  for (const Finding& finding : findings) text += finding.text() + "\n";
  return text;
}

}  // namespace mcc::sim
