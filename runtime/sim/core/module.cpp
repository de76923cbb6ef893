// Modules: parsed and decoded PTX with the memory of its variables.
#include "runtime/sim/core/module_impl.h"

#include <algorithm>
#include <cstring>

#include "runtime/sim/text/syntax.h"

namespace mcc::sim {

Module Module::parse(std::string_view ptx, const char* isa) {
  auto impl = std::make_unique<Impl>();
  // NVRTC's text ends with a zero byte.
  while (!ptx.empty() && ptx.back() == '\0') ptx.remove_suffix(1);
  const ParsedModule parsed = sim::parse(ptx);
  impl->program = decode(parsed, choose_isa(isa));
  Program& program = *impl->program;
  // Vector loads of constants want alignment.
  impl->constants = AlignedBytes(program.constants.size() + 64);
  std::memcpy(impl->constants.data(), program.constants.data(), program.constants.size());
  for (const ModuleVariable& v : program.variables) {
    AlignedBytes memory(v.memory.size() + 64), init(v.memory.size() / 4 + 64);
    if (!v.memory.empty()) std::memcpy(memory.data(), v.memory.data(), v.memory.size());
    std::memset(init.data(), 0x0f, init.size());
    impl->variables.push_back(std::move(memory));
    impl->variable_init.push_back(std::move(init));
    impl->variable_race.emplace_back();
  }
  for (const FunctionInfo& f : program.functions) {
    if (!f.entry || !f.defined) continue;
    KernelInfo info;
    info.name = f.name;
    for (const ParamSlot& p : f.params) info.parameters.push_back({p.name, p.offset, p.bytes});
    info.parameter_bytes = f.param_bytes;
    info.static_shared_bytes = f.shared_bytes;
    info.local_bytes = f.local_bytes;
    const int* limit = f.required_threads[0] > 0 ? f.required_threads : f.max_threads;
    info.max_threads = limit[0] > 0 ? limit[0] * std::max(1, limit[1]) * std::max(1, limit[2]) : 0;
    info.live_registers = static_cast<int>(f.virtual_registers);
    impl->kernels.push_back(std::move(info));
  }
  return Module(std::move(impl));
}

Module::Module(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

std::vector<KernelInfo> Module::kernels() const { return impl_->kernels; }

const KernelInfo* Module::find_kernel(std::string_view name) const {
  for (const KernelInfo& kernel : impl_->kernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

int Module::architecture() const { return impl_->program->architecture; }

std::span<std::byte> Module::variable(std::string_view name) {
  for (size_t i = 0; i < impl_->variables.size(); ++i) {
    if (impl_->program->variables[i].name != name) continue;
    return {reinterpret_cast<std::byte*>(impl_->variables[i].data()), impl_->program->variables[i].memory.size()};
  }
  return {};
}

}  // namespace mcc::sim
