// nms: greedy non-maximum suppression of boxes, per batch and class.
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/infer.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_nms(const Node& node, const std::vector<TensorType>& inputs) {
  const Expr& count = shape_of(node, "count", 1)[0];
  integer_of(node, "center_point_box");
  require_rank(node, inputs[0], 3, "the boxes");
  require_rank(node, inputs[1], 3, "the scores");
  if (!is_floating(inputs[0].dtype)) refuse(node, "the boxes must be floating.");
  require_same_dtype(node, inputs[0].dtype, inputs[1].dtype, "the boxes and the scores");
  merge_dims(node, inputs[0].shape[0], inputs[1].shape[0], "batch sizes of boxes and scores");
  merge_dims(node, inputs[0].shape[1], inputs[1].shape[2], "numbers of boxes and of their scores");
  merge_dims(node, inputs[0].shape[2], 4, "the size of a box and its 4 coordinates");
  if (!is_integer(inputs[2].dtype)) refuse(node, "the number of boxes to keep must be an integer.");
  if (!is_floating(inputs[3].dtype) || !is_floating(inputs[4].dtype)) {
    refuse(node, "the thresholds must be floating.");
  }
  require_single(node, inputs[2], "the number of boxes to keep");
  require_single(node, inputs[3], "the overlap threshold");
  require_single(node, inputs[4], "the score threshold");
  return {{DType::i64, {count, 3}}, {DType::i64, {1}}};
}

const OpInfo kRows[] = {
    {Op::nms, "nms", 5, 5, 2, kDataDependent, infer_nms, nullptr},
};

}  // namespace

std::span<const OpInfo> nms_ops() { return rows(kRows); }

}  // namespace mcc::ops
