// Manifest → JSON text.
#include <array>

#include "runtime/plan/dtype.h"
#include "runtime/plan/json_reader.h"
#include "runtime/plan/manifest_json.h"
#include "runtime/plan/manifest_names.h"

namespace mcc::runtime {

namespace {

class ManifestWriter {
 public:
  explicit ManifestWriter(const Manifest& manifest) : manifest_(manifest) {}

  std::string text() const {
    std::string out = "{\n\"format\": 1,\n";
    field(out, "producer", manifest_.producer);
    field(out, "model", Json{{"name", manifest_.model_name}});
    out += "\"signature\": {\n";
    list(out, "inputs", manifest_.inputs, [this](const TensorInfo& t) { return tensor(t); });
    list(out, "outputs", manifest_.outputs, [this](const TensorInfo& t) { return tensor(t); }, "\n");
    out += "},\n";
    list(out, "symbols", manifest_.symbols, [this](const SymbolInfo& s) { return symbol(s); });
    list(out, "buffers", manifest_.buffers, [this](const BufferInfo& b) { return buffer(b); });
    field(out, "arena", arena());
    list(out, "program", manifest_.program, [this](const Instruction& i) { return step(i); });
    list(out, "kernels", manifest_.kernels, [this](const KernelInfo& k) { return kernel(k); });
    list(out, "targets", manifest_.targets, [](const TargetInfo& t) { return target(t); });
    field(out, "toolchain", Json::parse(manifest_.toolchain_json));
    field(out, "options", Json::parse(manifest_.options_json), "\n");
    return out + "}\n";
  }

 private:
  // Names come from models and may hold any bytes: invalid UTF-8 is replaced, never fatal.
  static std::string dump(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  static void field(std::string& out, const char* key, const Json& value, const char* end = ",\n") {
    out.append("\"").append(key).append("\": ").append(dump(value)).append(end);
  }
  template <typename T, typename ToJson>
  static void list(std::string& out, const char* key, const std::vector<T>& values, ToJson to_json,
                   const char* end = ",\n") {
    out.append("\"").append(key).append("\": [");
    for (size_t i = 0; i < values.size(); ++i) {
      out.append(i == 0 ? "\n" : ",\n").append(dump(to_json(values[i])));
    }
    out.append("]").append(end);
  }

  Json expression(const Expression& value) const {
    if (value.is_constant()) return value.constant();
    Json tokens = Json::array();
    for (const ExpressionToken& token : value.tokens()) {
      if (token.op == ExpressionOp::constant) {
        tokens.push_back(token.value);
      } else if (token.op == ExpressionOp::symbol) {
        if (static_cast<size_t>(token.value) >= manifest_.symbols.size()) {
          fail_internal("the manifest being written uses an unknown symbol");
        }
        tokens.push_back(manifest_.symbols[static_cast<size_t>(token.value)].name);
      } else {
        tokens.push_back(std::string(expression_op_name(token.op)));
      }
    }
    return tokens;
  }
  Json expressions(const std::vector<Expression>& values) const {
    Json result = Json::array();
    for (const Expression& value : values) result.push_back(expression(value));
    return result;
  }

  Json tensor(const TensorInfo& tensor) const {
    return {{"name", tensor.name},
            {"dtype", std::string(dtype_row(tensor.dtype).name)},
            {"shape", expressions(tensor.shape)}};
  }
  Json symbol(const SymbolInfo& symbol) const {
    Json source;
    switch (symbol.source.kind) {
      case SymbolSource::Kind::input_dim:
        source = {{"input", symbol.source.input}, {"axis", symbol.source.axis}};
        break;
      case SymbolSource::Kind::buffer:
        source = {{"buffer", symbol.source.buffer}, {"element", symbol.source.element}};
        break;
      case SymbolSource::Kind::expression:
        source = {{"expression", expression(symbol.source.expression)}};
        break;
    }
    return {{"name", symbol.name},       {"label", symbol.label}, {"min", symbol.minimum},
            {"max", symbol.maximum},     {"source", source}};
  }
  Json buffer(const BufferInfo& buffer) const {
    Json result = {{"kind", std::string(kBufferKinds.name(buffer.kind))},
                   {"dtype", std::string(dtype_row(buffer.dtype).name)},
                   {"bytes", expression(buffer.bytes)}};
    if (buffer.index >= 0) result["index"] = buffer.index;
    if (buffer.of >= 0) result["of"] = buffer.of;
    if (buffer.offset >= 0) result["offset"] = buffer.offset;
    if (buffer.first >= 0) result["first"] = buffer.first;
    if (buffer.last >= 0) result["last"] = buffer.last;
    if (buffer.inplace_of >= 0) result["inplace_of"] = buffer.inplace_of;
    if (!buffer.origin.empty()) result["origin"] = buffer.origin;
    if (!buffer.shape.empty()) result["shape"] = expressions(buffer.shape);
    return result;
  }
  Json arena() const {
    const ArenaInfo& arena = manifest_.arena;
    if (!arena.is_static) {
      return {{"static", false}, {"bytes", nullptr}, {"lower_bound_bytes", nullptr},
              {"sum_bytes", nullptr}};
    }
    return {{"static", true},
            {"bytes", arena.bytes},
            {"lower_bound_bytes", arena.lower_bound_bytes},
            {"sum_bytes", arena.sum_bytes}};
  }
  Json step(const Instruction& instruction) const {
    if (instruction.kind == InstructionKind::copy) {
      return {{"op", "copy"}, {"from", instruction.from}, {"to", instruction.to}};
    }
    return {{"op", "launch"},
            {"kernel", instruction.kernel},
            {"buffers", instruction.buffers},
            {"dims", expressions(instruction.dims)}};
  }
  Json kernel(const KernelInfo& kernel) const {
    Json result = {{"name", kernel.name},
                   {"class", kernel.kernel_class},
                   {"outputs", kernel.outputs},
                   {"origin", kernel.origin}};
    if (kernel.host) {
      result["host"] = {{"parallel", expression(kernel.host->parallel)},
                        {"grain", kernel.host->grain},
                        {"scratch_bytes", kernel.host->scratch_bytes}};
    }
    if (kernel.cuda) {
      const CudaLaunch& launch = *kernel.cuda;
      result["cuda"] = {{"grid", Json::array({expression(launch.grid[0]), expression(launch.grid[1]),
                                              expression(launch.grid[2])})},
                        {"block", launch.block},
                        {"shared_bytes", launch.shared_bytes}};
    }
    return result;
  }
  static Json target(const TargetInfo& target) {
    Json result = {{"name", target.name},
                   {"kind", std::string(kTargetKinds.name(target.kind))},
                   {"sections", target.sections}};
    if (target.kind == TargetKind::host) {
      result["isa"] = target.isa;
    } else {
      result["compute_capability"] = target.compute_capability;
      result["minimum_driver"] = target.minimum_driver;
      if (target.exact_architecture) result["exact_architecture"] = true;
      if (target.family_architecture) result["family_architecture"] = true;
    }
    Json kernels = Json::array();
    for (const KernelResources& resources : target.kernels) {
      Json row = {{"name", resources.name}, {"image", resources.image}};
      if (resources.registers >= 0) row["registers"] = resources.registers;
      if (resources.spill_bytes >= 0) row["spill_bytes"] = resources.spill_bytes;
      if (resources.shared_bytes >= 0) row["shared_bytes"] = resources.shared_bytes;
      kernels.push_back(std::move(row));
    }
    result["kernels"] = std::move(kernels);
    return result;
  }

  const Manifest& manifest_;
};

}  // namespace

std::string write_manifest(const Manifest& manifest) { return ManifestWriter(manifest).text(); }

}  // namespace mcc::runtime
