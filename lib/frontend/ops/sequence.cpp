// Sequences and optionals: they exist at import time only, as lists of operands, so their lengths
// and the positions that are read must be known.
#include <algorithm>

#include "lib/frontend/importer.h"
#include "lib/frontend/op_table.h"

namespace mcc::frontend {
namespace {

int64_t position(NodeContext& c, size_t input, int64_t length, bool for_insert) {
  const Ints given = c.constant_ints(input, "the position in a sequence");
  if (given.size() != 1) throw ModelError("the position must be one number.");
  const int64_t at = given[0] < 0 ? given[0] + length : given[0];
  if (at < 0 || at >= length + (for_insert ? 1 : 0)) {
    throw ModelError("position " + std::to_string(given[0]) + " is outside of a sequence of " +
                     std::to_string(length) + ".");
  }
  return at;
}

void import_construct(NodeContext& c) { c.out(Operand::sequence(c.inputs)); }
void import_empty(NodeContext& c) { c.out(Operand::sequence({})); }

void import_insert(NodeContext& c) {
  Operands elements = c.in(0).elements();
  const auto length = static_cast<int64_t>(elements.size());
  const int64_t at = c.has(2) ? position(c, 2, length, true) : length;
  elements.insert(elements.begin() + at, c.in(1));
  c.out(Operand::sequence(std::move(elements)));
}

void import_erase(NodeContext& c) {
  Operands elements = c.in(0).elements();
  const auto length = static_cast<int64_t>(elements.size());
  elements.erase(elements.begin() + (c.has(1) ? position(c, 1, length, false) : length - 1));
  c.out(Operand::sequence(std::move(elements)));
}

void import_at(NodeContext& c) {
  const Operands& elements = c.in(0).elements();
  const int64_t at = position(c, 1, static_cast<int64_t>(elements.size()), false);
  c.out(elements[static_cast<size_t>(at)]);
}

void import_length(NodeContext& c) {
  c.out(c.b.number(static_cast<int64_t>(c.in(0).elements().size()), DType::i64));
}

void import_concat_from(NodeContext& c) {
  const Operands& elements = c.in(0).elements();
  if (elements.empty()) throw ModelError("an empty sequence cannot be concatenated.");
  const bool stack = c.integer("new_axis", 0) != 0;
  const int64_t rank = elements[0].rank() + (stack ? 1 : 0);
  const int64_t axis = normalized_axis(c.integer("axis"), rank);
  Operands parts;
  for (const Operand& element : elements) {
    parts.push_back(stack ? c.b.unsqueeze(element, {axis}) : element);
  }
  c.out(c.b.concat(parts, axis));
}

// Chunks of given sizes, of one size, or single slices whose axis may be dropped.
void import_split_to(NodeContext& c) {
  const Operand x = c.in(0);
  const int64_t axis = normalized_axis(c.integer("axis", 0), x.rank());
  if (!x.dim(axis).is_constant()) {
    throw Refusal("a sequence's length must be known at compile time, but it is " +
                      x.dim(axis).str() + ".",
                  "fix the dimension with --dim");
  }
  const int64_t total = x.dim(axis).constant();
  const bool single = !c.has(1);
  Ints sizes;
  if (single || c.in(1).rank() == 0) {
    const int64_t size = single ? 1 : c.constant_ints(1, "the size of the parts")[0];
    if (size < 1) throw ModelError("the size of the parts must be positive.");
    for (int64_t at = 0; at < total; at += size) sizes.push_back(std::min(size, total - at));
  } else {
    sizes = c.constant_ints(1, "the sizes of the parts");
  }
  Operands parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    Operand part = c.b.slice_axis(x, axis, at, size);
    at += size;
    if (single && c.integer("keepdims", 1) == 0) part = c.b.squeeze(part, {axis});
    parts.push_back(std::move(part));
  }
  if (at != total) throw ModelError("the parts do not add up to the axis.");
  c.out(Operand::sequence(std::move(parts)));
}

// SequenceMap: the body once for each element.
void import_map(NodeContext& c) {
  const onnx::AttributeProto* body = c.attribute("body");
  if (body == nullptr) throw ModelError("the body is missing.");
  const size_t length = c.in(0).elements().size();
  std::vector<Operands> columns(static_cast<size_t>(body->g().output_size()));
  for (size_t i = 0; i < length; ++i) {
    std::map<std::string, Operand> names;
    for (size_t k = 0; k < c.inputs.size(); ++k) {
      const Operand& input = c.in(k);
      names[body->g().input(static_cast<int>(k)).name()] =
          input.is_sequence() ? input.elements().at(i) : input;
    }
    const Operands results = c.importer.import_body(body->g(), c.b, names);
    for (size_t k = 0; k < results.size(); ++k) columns[k].push_back(results[k]);
  }
  for (Operands& column : columns) c.out(Operand::sequence(std::move(column)));
}

// -- optionals: an absent operand wrapped in an empty list is "none"

void import_optional(NodeContext& c) {
  c.out(c.has(0) ? c.inputs[0] : Operand::sequence({}));
}
bool has_element(const NodeContext& c) {
  return c.has(0) && !(c.inputs[0].is_sequence() && c.inputs[0].elements().empty());
}
void import_has_element(NodeContext& c) {
  c.out(c.b.scalar(DType::boolean, has_element(c) ? 1 : 0));
}
void import_get_element(NodeContext& c) {
  if (!has_element(c)) throw ModelError("the optional is empty.");
  c.out(c.inputs[0]);
}

const OperatorEntry kEntries[] = {
    {"", "ConcatFromSequence", 11, import_concat_from},
    {"", "Optional", 15, import_optional},
    {"", "OptionalGetElement", 15, import_get_element},
    {"", "OptionalHasElement", 15, import_has_element},
    {"", "SequenceAt", 11, import_at},
    {"", "SequenceConstruct", 11, import_construct},
    {"", "SequenceEmpty", 11, import_empty},
    {"", "SequenceErase", 11, import_erase},
    {"", "SequenceInsert", 11, import_insert},
    {"", "SequenceLength", 11, import_length},
    {"", "SequenceMap", 17, import_map},
    {"", "SplitToSequence", 11, import_split_to},
};

}  // namespace

std::span<const OperatorEntry> sequence_entries() { return kEntries; }

}  // namespace mcc::frontend
