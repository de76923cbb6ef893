// Cross-checks of a parsed manifest; see manifest_check.h.
#include "runtime/plan/manifest_check.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "runtime/plan/format.h"
#include "runtime/support/checked.h"

namespace mcc::runtime {

namespace {

[[noreturn]] void fail(const std::string& where, size_t number, const std::string& problem) {
  fail_model("plan manifest: " + where + "[" + std::to_string(number) + "]: " + problem);
}

bool is_identifier(const std::string& name) {
  return !name.empty() && name.size() <= 64 && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_';
         });
}

bool is_read_only(const Manifest& manifest, int buffer) {
  const BufferKind kind = manifest.buffers[static_cast<size_t>(storage_of(manifest, buffer))].kind;
  return kind == BufferKind::input || kind == BufferKind::weight;
}

void check_symbols(const Manifest& manifest) {
  for (size_t i = 0; i < manifest.symbols.size(); ++i) {
    const SymbolSource& source = manifest.symbols[i].source;
    if (source.kind == SymbolSource::Kind::expression &&
        source.expression.largest_symbol() >= static_cast<int64_t>(i)) {
      fail("symbols", i, "its expression uses a symbol that is defined later");
    }
    if (source.kind == SymbolSource::Kind::buffer) {
      const BufferInfo& buffer = manifest.buffers[static_cast<size_t>(source.buffer)];
      const int64_t size = buffer.dtype == MCC_I64 ? 8 : 4;
      if (buffer.dtype != MCC_I64 && buffer.dtype != MCC_I32) {
        fail("symbols", i, "its source buffer does not hold i64 or i32");
      }
      if (!buffer.bytes.is_constant() || buffer.bytes.constant() / size <= source.element) {
        fail("symbols", i, "its source element is outside the buffer");
      }
    }
  }
}

void check_buffers(const Manifest& manifest, uint64_t weights_bytes) {
  std::vector<int> input_buffers(manifest.inputs.size());
  std::vector<int> output_buffers(manifest.outputs.size());
  for (size_t i = 0; i < manifest.buffers.size(); ++i) {
    const BufferInfo& buffer = manifest.buffers[i];
    const bool constant = buffer.bytes.is_constant();
    const int64_t bytes = constant ? buffer.bytes.constant() : 0;
    if (bytes < 0) fail("buffers", i, "its size is negative");
    const bool placed = buffer.kind == BufferKind::weight ||
                        (buffer.kind == BufferKind::arena && manifest.arena.is_static);
    if (placed) {
      if (!constant) fail("buffers", i, "its size must be constant");
      const uint64_t limit = buffer.kind == BufferKind::weight
                                 ? weights_bytes
                                 : static_cast<uint64_t>(manifest.arena.bytes);
      // An arena buffer that nothing uses needs no place.
      const bool unused = buffer.kind == BufferKind::arena && buffer.first < 0;
      if (buffer.offset < 0 && !unused) fail("buffers", i, "it has no offset");
      if (buffer.offset >= 0 && (static_cast<uint64_t>(buffer.offset) > limit ||
                                 static_cast<uint64_t>(bytes) >
                                     limit - static_cast<uint64_t>(buffer.offset))) {
        fail("buffers", i, "it lies outside its section or arena");
      }
      if (buffer.offset % kBufferAlignment != 0 && buffer.offset >= 0) {
        fail("buffers", i, "its offset is not a multiple of 64");
      }
    }
    if (buffer.kind == BufferKind::input) ++input_buffers[static_cast<size_t>(buffer.index)];
    if (buffer.kind == BufferKind::output) ++output_buffers[static_cast<size_t>(buffer.index)];
    if (buffer.kind == BufferKind::alias) {
      const BufferInfo& of = manifest.buffers[static_cast<size_t>(buffer.of)];
      if (of.kind == BufferKind::alias) fail("buffers", i, "an alias of an alias");
      if (constant && of.bytes.is_constant() &&
          (bytes > of.bytes.constant() || buffer.offset > of.bytes.constant() - bytes)) {
        fail("buffers", i, "the alias reaches outside its buffer");
      }
    }
    if (buffer.inplace_of >= 0 &&
        (buffer.kind != BufferKind::arena ||
         manifest.buffers[static_cast<size_t>(buffer.inplace_of)].kind != BufferKind::arena ||
         buffer.inplace_of == static_cast<int>(i))) {
      fail("buffers", i, "in-place reuse is between two arena buffers");
    }
  }
  for (size_t i = 0; i < input_buffers.size(); ++i) {
    if (input_buffers[i] != 1) fail("signature.inputs", i, "it needs exactly one buffer");
  }
  for (size_t i = 0; i < output_buffers.size(); ++i) {
    if (output_buffers[i] != 1) fail("signature.outputs", i, "it needs exactly one buffer");
  }
}

void check_program(const Manifest& manifest) {
  struct Arity {
    size_t buffers = 0, dims = 0;
    bool seen = false;
  };
  std::vector<Arity> arities(manifest.kernels.size());
  for (size_t i = 0; i < manifest.program.size(); ++i) {
    const Instruction& instruction = manifest.program[i];
    if (instruction.kind == InstructionKind::launch) {
      Arity& arity = arities[static_cast<size_t>(instruction.kernel)];
      if (arity.seen && (arity.buffers != instruction.buffers.size() ||
                         arity.dims != instruction.dims.size())) {
        fail("program", i, "its kernel is launched elsewhere with other parameters");
      }
      arity = {instruction.buffers.size(), instruction.dims.size(), true};
      const int outputs = manifest.kernels[static_cast<size_t>(instruction.kernel)].outputs;
      if (static_cast<size_t>(outputs) > instruction.buffers.size()) {
        fail("program", i, "fewer buffers than its kernel writes");
      }
    }
    for (int buffer : written_buffers(manifest, instruction)) {
      if (is_read_only(manifest, buffer)) fail("program", i, "it writes an input or a weight");
    }
  }
}

void check_lifetimes(const Manifest& manifest) {
  Manifest derived = manifest;
  derive_lifetimes(derived);
  for (size_t i = 0; i < manifest.buffers.size(); ++i) {
    const BufferInfo& buffer = manifest.buffers[i];
    if (buffer.kind != BufferKind::arena) continue;
    const BufferInfo& expected = derived.buffers[i];
    if (buffer.first != expected.first || buffer.last != expected.last) {
      fail("buffers", i, "its lifetime differs from its uses in the program");
    }
    if (buffer.inplace_of >= 0) {
      const BufferInfo& source = derived.buffers[static_cast<size_t>(buffer.inplace_of)];
      if (source.last != buffer.first || source.first >= buffer.first) {
        fail("buffers", i, "it cannot overwrite a buffer that is still needed");
      }
    }
  }
}

// Sweeps the program: at each instruction the live buffers must not overlap in memory, except a
// buffer with the one that it replaces in place.
void check_overlaps(const Manifest& manifest) {
  std::vector<size_t> order;
  for (size_t i = 0; i < manifest.buffers.size(); ++i) {
    const BufferInfo& buffer = manifest.buffers[i];
    if (buffer.kind == BufferKind::arena && buffer.first >= 0 && buffer.bytes.constant() > 0) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return manifest.buffers[a].first < manifest.buffers[b].first;
  });
  std::vector<size_t> live;
  for (size_t i : order) {
    const BufferInfo& buffer = manifest.buffers[i];
    std::erase_if(live, [&](size_t j) { return manifest.buffers[j].last < buffer.first; });
    for (size_t j : live) {
      const BufferInfo& other = manifest.buffers[j];
      const bool in_place = buffer.inplace_of == static_cast<int>(j) && buffer.offset == other.offset;
      if (!in_place && buffer.offset < other.offset + other.bytes.constant() &&
          other.offset < buffer.offset + buffer.bytes.constant()) {
        fail("buffers", i, "it overlaps buffer " + std::to_string(j) + " while both are needed");
      }
    }
    live.push_back(i);
  }
}

void check_kernels(const Manifest& manifest) {
  bool any_host = false;
  bool any_cuda = false;
  for (const TargetInfo& target : manifest.targets) {
    (target.kind == TargetKind::host ? any_host : any_cuda) = true;
  }
  std::set<std::string, std::less<>> names;
  for (size_t i = 0; i < manifest.kernels.size(); ++i) {
    const KernelInfo& kernel = manifest.kernels[i];
    if (!is_identifier(kernel.name)) fail("kernels", i, "its name is no identifier");
    if (!names.insert(kernel.name).second) fail("kernels", i, "its name is used twice");
    if (any_host && !kernel.host) fail("kernels", i, "it lacks a host launch");
    if (any_cuda && !kernel.cuda) fail("kernels", i, "it lacks a CUDA launch");
  }
}

void check_targets(const Manifest& manifest) {
  for (size_t i = 0; i < manifest.targets.size(); ++i) {
    const TargetInfo& target = manifest.targets[i];
    if (target.sections.empty()) fail("targets", i, "it has no code");
    if (target.kernels.size() != manifest.kernels.size()) {
      fail("targets", i, "it does not list every kernel");
    }
    for (size_t k = 0; k < target.kernels.size(); ++k) {
      if (target.kernels[k].name != manifest.kernels[k].name) {
        fail("targets", i, "its kernels are in another order than the plan's");
      }
    }
  }
}

}  // namespace

void check_manifest(const Manifest& manifest, uint64_t weights_bytes) {
  check_symbols(manifest);
  check_buffers(manifest, weights_bytes);
  check_kernels(manifest);
  check_targets(manifest);
  check_program(manifest);
  check_lifetimes(manifest);
  if (manifest.arena.is_static) check_overlaps(manifest);
}

}  // namespace mcc::runtime
