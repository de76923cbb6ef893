// nms: greedy non-maximum suppression of boxes, per batch and class.
#include <algorithm>
#include <array>

#include "lib/ir/elements.h"
#include "lib/ir/ops/data_dependent.h"
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

// Corners in order: x0 <= x1, y0 <= y1. The arithmetic is that of f32, in which thresholds and
// ties are decided on devices.
struct Box {
  float x0, y0, x1, y1;
};

Box box_of(const double* b, bool center) {
  const std::array<float, 4> c{static_cast<float>(b[0]), static_cast<float>(b[1]),
                               static_cast<float>(b[2]), static_cast<float>(b[3])};
  if (center) {  // x, y, width, height
    return {c[0] - c[2] / 2, c[1] - c[3] / 2, c[0] + c[2] / 2, c[1] + c[3] / 2};
  }
  // y1, x1, y2, x2, any diagonal
  return {std::min(c[1], c[3]), std::min(c[0], c[2]), std::max(c[1], c[3]), std::max(c[0], c[2])};
}

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (width <= 0 || height <= 0) return false;
  const float common = width * height;
  const float area_a = (a.x1 - a.x0) * (a.y1 - a.y0);
  const float area_b = (b.x1 - b.x0) * (b.y1 - b.y0);
  const float united = area_a + area_b - common;
  if (common <= 0 || area_a <= 0 || area_b <= 0 || united <= 0) return false;
  return common / united > threshold;
}

void evaluate_nms(const Node& node, const EvaluationContext& context,
                  std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const bool center = node.attributes.integer("center_point_box") != 0;
  const std::vector<double> boxes = all_doubles(inputs[0]);
  const std::vector<double> scores = all_doubles(inputs[1]);
  const int64_t batches = inputs[1].shape()[0], classes = inputs[1].shape()[1];
  const int64_t count = inputs[1].shape()[2];
  const int64_t limit = std::max<int64_t>(0, all_integers(inputs[2]).at(0));
  const auto iou = static_cast<float>(all_doubles(inputs[3]).at(0));
  const double threshold = all_doubles(inputs[4]).at(0);
  std::vector<int64_t> rows;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t c = 0; c < classes; ++c) {
      const double* score = scores.data() + (b * classes + c) * count;
      std::vector<int64_t> order;
      for (int64_t i = 0; i < count; ++i) {
        if (score[i] > threshold) order.push_back(i);
      }
      // Highest score first; of equal ones the lower index.
      std::stable_sort(order.begin(), order.end(),
                       [score](int64_t x, int64_t y) { return score[x] > score[y]; });
      std::vector<Box> kept;
      for (int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= limit) break;
        const Box box = box_of(boxes.data() + (b * count + i) * 4, center);
        if (std::any_of(kept.begin(), kept.end(),
                        [&](const Box& other) { return overlaps(box, other, iou); })) {
          continue;
        }
        kept.push_back(box);
        rows.insert(rows.end(), {b, c, i});
      }
    }
  }
  const auto found = static_cast<int64_t>(rows.size() / 3);
  check_count(node, context, found);
  outputs[0] = Tensor(DType::i64, {found, 3});
  store_elements(outputs[0], 0, rows);
  outputs[1] = Tensor::from_int64({found});
}

const OpInfo kRows[] = {
    {Op::nms, "nms", 5, 5, 2, kDataDependent, infer_nms, evaluate_nms},
};

}  // namespace

std::span<const OpInfo> nms_ops() { return rows(kRows); }

}  // namespace mcc::ops
