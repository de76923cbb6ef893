// window_reduce: folds over sliding windows (pooling).
#include "lib/ir/elements.h"
#include "lib/ir/evaluate.h"
#include "lib/ir/ops/families.h"
#include "lib/ir/ops/fold.h"
#include "lib/ir/ops/infer.h"
#include "lib/support/parallel.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_window_reduce(const Node& node,
                                            const std::vector<TensorType>& inputs) {
  const std::string& fn = choice_of(node, "fn", {"sum", "max", "min", "arg_max"});
  TensorType out = inputs[0];
  if (!is_floating(out.dtype) && !is_integer(out.dtype)) {
    refuse(node,
           "'" + fn + "' has no meaning for " + std::string(dtype_info(out.dtype).name) + ".");
  }
  const Ints& axes = sorted_axes_of(node, "axes", out.shape.size());
  const Ints& window = ints_of(node, "window", axes.size());
  const Ints& strides = ints_of(node, "strides", axes.size());
  const Ints& dilations = ints_of(node, "dilations", axes.size());
  const Shape& low = shape_of(node, "pads_low", axes.size());
  const Shape& high = shape_of(node, "pads_high", axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (window[i] < 1 || strides[i] < 1 || dilations[i] < 1) {
      refuse(node, "windows, strides and dilations must be positive.");
    }
    Expr& dim = out.shape[static_cast<size_t>(axes[i])];
    const Expr span = dim + low[i] + high[i] - Expr(dilations[i] * (window[i] - 1) + 1);
    if (span.is_constant() && span.constant() < 0) {
      refuse(node, "a window of " + std::to_string(window[i]) + " does not fit into axis " +
                       std::to_string(axes[i]) + " of " + type_text(inputs[0]) + ".");
    }
    dim = floordiv(span, strides[i]) + 1;
  }
  if (fn == "arg_max") out.dtype = DType::i64;
  return {out};
}

// One tap of a window relative to its corner.
struct Tap {
  std::vector<int64_t> shift;  // per window axis
  int64_t offset = 0;          // in the input, elements
  int64_t flat = 0;            // in the row-major index space of the window axes
};

std::vector<Tap> window_taps(const Node& node, const Tensor& input) {
  const Ints& axes = node.attributes.ints("axes");
  const Ints& window = node.attributes.ints("window");
  const Ints& dilations = node.attributes.ints("dilations");
  const std::vector<int64_t> strides = strides_of(input.shape());
  std::vector<int64_t> sizes;
  for (int64_t axis : axes) sizes.push_back(input.shape()[static_cast<size_t>(axis)]);
  const std::vector<int64_t> flat_strides = strides_of(sizes);
  std::vector<Tap> taps{{}};
  for (size_t a = 0; a < axes.size(); ++a) {
    std::vector<Tap> next;
    for (const Tap& tap : taps) {
      for (int64_t k = 0; k < window[a]; ++k) {
        Tap extended = tap;
        extended.shift.push_back(k * dilations[a]);
        extended.offset += k * dilations[a] * strides[static_cast<size_t>(axes[a])];
        extended.flat += k * dilations[a] * flat_strides[a];
        next.push_back(std::move(extended));
      }
    }
    taps = std::move(next);
  }
  return taps;
}

template <typename T>
void window_typed(const Node& node, const EvaluationContext& context, const Tensor& input,
                  Tensor& out) {
  const std::string& fn = node.attributes.text("fn");
  const Ints& axes = node.attributes.ints("axes");
  const Ints& strides = node.attributes.ints("strides");
  const bool is_unsigned = dtype_info(input.dtype()).kind == DTypeKind::unsigned_integer;
  const bool arg = fn == "arg_max";
  std::vector<int64_t> low, shape = input.shape();
  for (const Expr& pad : node.attributes.shape("pads_low")) {
    low.push_back(pad.evaluate(context.bindings));
  }
  for (size_t a = 0; a < axes.size(); ++a) {
    const int64_t high = node.attributes.shape("pads_high")[a].evaluate(context.bindings);
    const int64_t reach =
        node.attributes.ints("dilations")[a] * (node.attributes.ints("window")[a] - 1) + 1;
    int64_t& dim = shape[static_cast<size_t>(axes[a])];
    dim = count_windows(low[a] + dim + high, reach, strides[a]);
  }
  expect_shape(node, out, shape);
  const std::vector<Tap> taps = window_taps(node, input);
  const std::vector<int64_t> in_strides = strides_of(input.shape());
  const std::vector<int64_t> out_strides = strides_of(out.shape());
  std::vector<int64_t> sizes;
  for (int64_t axis : axes) sizes.push_back(input.shape()[static_cast<size_t>(axis)]);
  const std::vector<int64_t> flat_strides = strides_of(sizes);
  std::vector<T> values(static_cast<size_t>(input.elements()));
  load_elements(input, 0, std::span<T>(values));
  std::vector<T> results(arg ? 0 : static_cast<size_t>(out.elements()));
  std::vector<int64_t> places(arg ? static_cast<size_t>(out.elements()) : 0);

  parallel_for(out.elements(), 4096, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> corner(axes.size());
    for (int64_t o = begin; o < end; ++o) {
      int64_t base = 0, flat = 0;
      for (size_t a = 0; a < out.shape().size(); ++a) {
        base += o / out_strides[a] % out.shape()[a] * in_strides[a];
      }
      for (size_t a = 0; a < axes.size(); ++a) {
        const auto axis = static_cast<size_t>(axes[a]);
        const int64_t position = o / out_strides[axis] % out.shape()[axis];
        corner[a] = position * strides[a] - low[a];
        base += (corner[a] - position) * in_strides[axis];
        flat += corner[a] * flat_strides[a];
      }
      T result = fold_start<T>(arg ? "max" : std::string_view(fn), input.dtype());
      int64_t place = -1;
      for (const Tap& tap : taps) {
        bool inside = true;
        for (size_t a = 0; a < axes.size(); ++a) {
          const int64_t at = corner[a] + tap.shift[a];
          inside = inside && at >= 0 && at < sizes[a];
        }
        if (!inside) continue;
        const T value = values[static_cast<size_t>(base + tap.offset)];
        if (arg) {
          const bool better = is_unsigned
                                  ? static_cast<uint64_t>(value) > static_cast<uint64_t>(result)
                                  : value > result || value != value;
          if (place < 0 || (better && result == result)) {
            result = value;
            place = flat + tap.flat;
          }
        } else {
          result = fold(fn, result, value, is_unsigned);
        }
      }
      if (arg) {
        places[static_cast<size_t>(o)] = place;
      } else {
        results[static_cast<size_t>(o)] = result;
      }
    }
  });
  if (arg) {
    store_elements(out, 0, places);
  } else {
    store_elements(out, 0, std::span<const T>(results));
  }
}

void evaluate_window_reduce(const Node& node, const EvaluationContext& context,
                            std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (is_floating(inputs[0].dtype())) {
    window_typed<double>(node, context, inputs[0], outputs[0]);
  } else {
    window_typed<int64_t>(node, context, inputs[0], outputs[0]);
  }
}

const OpInfo kRows[] = {
    {Op::window_reduce, "window_reduce", 1, 1, 1, kReduction, infer_window_reduce,
     evaluate_window_reduce},
};

}  // namespace

std::span<const OpInfo> window_ops() { return rows(kRows); }

}  // namespace mcc::ops
