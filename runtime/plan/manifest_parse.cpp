// JSON text → Manifest. Every type, enumeration and index is checked here.
#include <map>

#include "runtime/plan/dtype.h"
#include "runtime/plan/json_reader.h"
#include "runtime/plan/manifest_json.h"
#include "runtime/plan/manifest_names.h"

namespace mcc::runtime {

namespace {

constexpr int kMaximumCount = 1 << 24;  // of buffers, instructions, kernels: guards int indices

class ManifestParser {
 public:
  Manifest parse(const JsonReader& root) {
    const int64_t format = root.at("format").integer();
    if (format != 1) root.at("format").fail("unknown manifest format " + std::to_string(format));
    manifest_.producer = root.at("producer").text();
    manifest_.model_name = root.at("model").at("name").text();
    declare_symbols(root.at("symbols"));
    const JsonReader signature = root.at("signature");
    for (const JsonReader& item : items(signature, "inputs")) {
      manifest_.inputs.push_back(tensor(item));
    }
    for (const JsonReader& item : items(signature, "outputs")) {
      manifest_.outputs.push_back(tensor(item));
    }
    manifest_.buffers.resize(items(root, "buffers").size());
    define_symbols(root.at("symbols"));
    define_buffers(root.at("buffers"));
    arena(root.at("arena"));
    for (const JsonReader& item : items(root, "kernels")) manifest_.kernels.push_back(kernel(item));
    for (const JsonReader& item : items(root, "program")) manifest_.program.push_back(step(item));
    for (const JsonReader& item : items(root, "targets")) manifest_.targets.push_back(target(item));
    manifest_.toolchain_json = object_text(root.at("toolchain"));
    manifest_.options_json = object_text(root.at("options"));
    return std::move(manifest_);
  }

 private:
  static std::vector<JsonReader> items(const JsonReader& parent, const char* key) {
    std::vector<JsonReader> result = parent.at(key).items();
    if (result.size() > static_cast<size_t>(kMaximumCount)) parent.at(key).fail("too many entries");
    return result;
  }
  static std::string object_text(const JsonReader& reader) {
    if (!reader.value().is_object()) reader.fail("expected an object");
    return reader.value().dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  static int index(const JsonReader& reader, size_t count) {
    if (count == 0) reader.fail("refers to an empty list");
    return reader.small(0, static_cast<int>(count) - 1);
  }
  int buffer_index(const JsonReader& reader) const { return index(reader, manifest_.buffers.size()); }

  Expression expression(const JsonReader& reader) const {
    if (!reader.value().is_array()) return reader.integer();
    std::vector<ExpressionToken> tokens;
    if (reader.value().size() > Expression::kMaximumTokens) reader.fail("the expression is too long");
    for (const JsonReader& item : reader.items()) {
      if (!item.value().is_string()) {
        tokens.push_back({ExpressionOp::constant, item.integer()});
        continue;
      }
      const ExpressionOp op = expression_op_from_name(item.text());
      if (op != ExpressionOp::symbol) {
        tokens.push_back({op, 0});
        continue;
      }
      const auto found = symbol_index_.find(item.text());
      if (found == symbol_index_.end()) item.fail("unknown symbol \"" + item.text() + "\"");
      tokens.push_back({ExpressionOp::symbol, found->second});
    }
    try {
      return Expression(std::move(tokens));
    } catch (const Error& error) {
      reader.fail(error.what());
    }
  }
  std::vector<Expression> expressions(const JsonReader& reader) const {
    std::vector<Expression> result;
    for (const JsonReader& item : reader.items()) result.push_back(expression(item));
    return result;
  }
  std::vector<Expression> shape(const JsonReader& reader) const {
    std::vector<Expression> result = expressions(reader);
    if (result.size() > MCC_MAX_RANK) reader.fail("more axes than are supported");
    return result;
  }
  static mcc_dtype dtype(const JsonReader& reader) {
    const auto row = find_dtype(reader.text());
    if (!row) reader.fail("unknown element type \"" + reader.text() + "\"");
    return row->code;
  }

  void declare_symbols(const JsonReader& reader) {
    for (const JsonReader& item : reader.items()) {
      const std::string& name = item.at("name").text();
      if (name.empty() || expression_op_from_name(name) != ExpressionOp::symbol) {
        item.at("name").fail("\"" + name + "\" cannot name a symbol");
      }
      if (!symbol_index_.emplace(name, static_cast<int64_t>(symbol_index_.size())).second) {
        item.at("name").fail("symbol \"" + name + "\" is defined twice");
      }
    }
  }

  // Runs after inputs and the number of buffers are known.
  void define_symbols(const JsonReader& reader) {
    for (const JsonReader& item : reader.items()) {
      SymbolInfo symbol;
      symbol.name = item.at("name").text();
      symbol.label = item.at("label").text();
      symbol.minimum = item.at("min").integer(0, kUnboundedSymbol);
      symbol.maximum = item.at("max").integer(symbol.minimum, kUnboundedSymbol);
      const JsonReader source = item.at("source");
      if (source.has("input")) {
        symbol.source.kind = SymbolSource::Kind::input_dim;
        symbol.source.input = index(source.at("input"), manifest_.inputs.size());
        const auto& input = manifest_.inputs[static_cast<size_t>(symbol.source.input)];
        symbol.source.axis = index(source.at("axis"), input.shape.size());
      } else if (source.has("buffer")) {
        symbol.source.kind = SymbolSource::Kind::buffer;
        symbol.source.buffer = buffer_index(source.at("buffer"));
        symbol.source.element = source.at("element").integer(0);
      } else {
        symbol.source.kind = SymbolSource::Kind::expression;
        symbol.source.expression = expression(source.at("expression"));
      }
      manifest_.symbols.push_back(std::move(symbol));
    }
  }

  TensorInfo tensor(const JsonReader& item) const {
    return {item.at("name").text(), dtype(item.at("dtype")), shape(item.at("shape"))};
  }

  void define_buffers(const JsonReader& reader) {
    size_t number = 0;
    for (const JsonReader& item : reader.items()) {
      BufferInfo& buffer = manifest_.buffers[number++];
      const auto kind = kBufferKinds.find(item.at("kind").text());
      if (!kind) item.at("kind").fail("unknown kind \"" + item.at("kind").text() + "\"");
      buffer.kind = *kind;
      buffer.dtype = dtype(item.at("dtype"));
      buffer.bytes = expression(item.at("bytes"));
      if (buffer.kind == BufferKind::input) {
        buffer.index = index(item.at("index"), manifest_.inputs.size());
      }
      if (buffer.kind == BufferKind::output) {
        buffer.index = index(item.at("index"), manifest_.outputs.size());
      }
      if (buffer.kind == BufferKind::alias) buffer.of = buffer_index(item.at("of"));
      if (buffer.kind == BufferKind::weight || buffer.kind == BufferKind::alias) {
        buffer.offset = item.at("offset").integer(0);
      } else if (item.has("offset")) {
        buffer.offset = item.at("offset").integer(0);
      }
      if (item.has("first")) buffer.first = item.at("first").small(0, kMaximumCount);
      if (item.has("last")) buffer.last = item.at("last").small(buffer.first, kMaximumCount);
      if (item.has("inplace_of")) buffer.inplace_of = buffer_index(item.at("inplace_of"));
      if (item.has("origin")) buffer.origin = item.at("origin").text();
      if (item.has("shape")) buffer.shape = shape(item.at("shape"));
    }
  }

  void arena(const JsonReader& reader) {
    manifest_.arena.is_static = reader.at("static").boolean();
    if (!manifest_.arena.is_static) return;
    manifest_.arena.bytes = reader.at("bytes").integer(0);
    manifest_.arena.lower_bound_bytes = reader.at("lower_bound_bytes").integer(0);
    manifest_.arena.sum_bytes = reader.at("sum_bytes").integer(0);
  }

  Instruction step(const JsonReader& item) const {
    Instruction instruction;
    const std::string& op = item.at("op").text();
    if (op == "copy") {
      instruction.kind = InstructionKind::copy;
      instruction.from = buffer_index(item.at("from"));
      instruction.to = buffer_index(item.at("to"));
      return instruction;
    }
    if (op != "launch") item.at("op").fail("unknown instruction \"" + op + "\"");
    instruction.kernel = index(item.at("kernel"), manifest_.kernels.size());
    for (const JsonReader& buffer : item.at("buffers").items()) {
      instruction.buffers.push_back(buffer_index(buffer));
    }
    instruction.dims = expressions(item.at("dims"));
    return instruction;
  }

  KernelInfo kernel(const JsonReader& item) const {
    KernelInfo kernel;
    kernel.name = item.at("name").text();
    kernel.kernel_class = item.at("class").text();
    kernel.outputs = item.at("outputs").small(0, kMaximumCount);
    for (const JsonReader& node : item.at("origin").items()) kernel.origin.push_back(node.text());
    if (item.has("host")) {
      const JsonReader host = item.at("host");
      kernel.host = HostLaunch{expression(host.at("parallel")),
                               host.at("grain").integer(1),
                               host.at("scratch_bytes").integer(0, int64_t{1} << 32)};
    }
    if (item.has("cuda")) {
      const JsonReader cuda = item.at("cuda");
      const std::vector<JsonReader> grid = cuda.at("grid").items();
      const std::vector<JsonReader> block = cuda.at("block").items();
      if (grid.size() != 3) cuda.at("grid").fail("expected three extents");
      if (block.size() != 3) cuda.at("block").fail("expected three extents");
      kernel.cuda.emplace();
      for (size_t i = 0; i < 3; ++i) {
        kernel.cuda->grid[i] = expression(grid[i]);
        kernel.cuda->block[i] = block[i].small(1, i == 2 ? 64 : 1024);
      }
      if (kernel.cuda->block[0] * kernel.cuda->block[1] * kernel.cuda->block[2] > 1024) {
        cuda.at("block").fail("more than 1024 threads");
      }
      kernel.cuda->shared_bytes = cuda.at("shared_bytes").integer(0, 1 << 20);
    }
    return kernel;
  }

  static TargetInfo target(const JsonReader& item) {
    TargetInfo target;
    target.name = item.at("name").text();
    const auto kind = kTargetKinds.find(item.at("kind").text());
    if (!kind) item.at("kind").fail("unknown kind \"" + item.at("kind").text() + "\"");
    target.kind = *kind;
    for (const JsonReader& id : item.at("sections").items()) {
      target.sections.push_back(static_cast<uint32_t>(id.integer(1, kMaximumCount)));
    }
    if (target.kind == TargetKind::host) {
      target.isa = item.at("isa").text();
    } else {
      target.compute_capability = item.at("compute_capability").small(10, 9999);
      target.minimum_driver = item.at("minimum_driver").small(0, 1000000);
      if (item.has("exact_architecture")) {
        target.exact_architecture = item.at("exact_architecture").boolean();
      }
      if (item.has("family_architecture")) {
        target.family_architecture = item.at("family_architecture").boolean();
      }
    }
    for (const JsonReader& row : item.at("kernels").items()) {
      KernelResources resources;
      resources.name = row.at("name").text();
      resources.image = index(row.at("image"), target.sections.size());
      if (row.has("registers")) resources.registers = row.at("registers").integer(0);
      if (row.has("spill_bytes")) resources.spill_bytes = row.at("spill_bytes").integer(0);
      if (row.has("shared_bytes")) resources.shared_bytes = row.at("shared_bytes").integer(0);
      target.kernels.push_back(std::move(resources));
    }
    return target;
  }

  Manifest manifest_;
  std::map<std::string, int64_t, std::less<>> symbol_index_;
};

}  // namespace

Manifest parse_manifest(std::string_view text) {
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) fail_model("plan manifest: not valid JSON");
  return ManifestParser().parse(JsonReader(root, ""));
}

}  // namespace mcc::runtime
