// Symbolic dimensions: see symbols.h.
#include "lib/frontend/symbols.h"

#include <algorithm>
#include <cctype>

#include "lib/support/error.h"

namespace mcc::frontend {
namespace {

// Dimensions are 32-bit in practice; a bound keeps products of a few of them below 2^62.
constexpr int64_t kLargestDimension = (int64_t{1} << 31) - 1;

bool mentions_cache(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("past") != std::string::npos || lower.find("cache") != std::string::npos;
}

Range range_of(const std::string& label, bool cache_only, const ImportOptions& options) {
  const auto given = options.dims.find(label);
  if (given != options.dims.end()) return given->second;
  return {cache_only || mentions_cache(label) ? 0 : 1, kLargestDimension};
}

// The symbol's value when `expr` is 0, if it occurs as +symbol or -symbol only.
std::optional<Expr> solve_for(const Expr& expr, const std::string& symbol) {
  const std::optional<Linear> linear = linear_in(expr, symbol);
  if (!linear) return std::nullopt;
  if (linear->coefficient.is_constant(1)) return -linear->rest;
  if (linear->coefficient.is_constant(-1)) return linear->rest;
  return std::nullopt;
}

bool contains(const Expr& expr, const std::string& symbol) {
  return expr.symbols().count(symbol) != 0;
}

// The expression without clamps to constants: min(x, 512) and max(0, x) become x. The constants of
// the mins are collected.
Expr drop_clamps(const Expr& expr, std::vector<Equalities::Limit>& limits) {
  Expr sum(expr.node().constant);
  for (const Term& term : expr.node().terms) {
    Expr product(term.coefficient);
    for (const auto& atom : term.factors) {
      if (atom->kind == AtomKind::symbol) {
        product = product * Expr::symbol(atom->name);
        continue;
      }
      const Expr left = drop_clamps(atom->left, limits), right = drop_clamps(atom->right, limits);
      if (atom->kind == AtomKind::floordiv) product = product * floordiv(left, right);
      if (atom->kind == AtomKind::mod) product = product * mod(left, right);
      if (atom->kind == AtomKind::min) {
        const bool clamp = left.is_constant() != right.is_constant();
        const Expr& inner = left.is_constant() ? right : left;
        if (clamp) limits.push_back({inner, (left.is_constant() ? left : right).constant()});
        product = product * (clamp ? inner : min(left, right));
      }
      if (atom->kind == AtomKind::max) {
        const bool clamp = left.is_constant(0) || right.is_constant(0);
        product = product * (clamp ? (left.is_constant(0) ? right : left) : max(left, right));
      }
    }
    sum = sum + product;
  }
  return sum;
}

}  // namespace

Expr parse_dimension(const std::string& text, const std::string& fallback) {
  // What exporters write for "unknown" is no name: two of them need not be equal.
  if (text.empty() || text == "?" || text == "-1" || text == "None") return Expr::symbol(fallback);
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); })) {
    if (text.size() > 18) throw UsageError("the dimension " + text + " is too large.");
    return Expr(static_cast<int64_t>(std::stoll(text)));
  }
  try {
    const Expr expr = Expr::parse(text);
    if (!expr.is_constant()) return expr;
  } catch (const Error&) {
    // Not an expression that we know: the whole text is a name.
  }
  return Expr::symbol(text);
}

Expr Equalities::resolve(Expr expr) const {
  // learn() never lets a label depend on itself, so this ends.
  for (;;) {
    bool again = false;
    for (const std::string& symbol : expr.symbols()) again = again || known_.count(symbol) != 0;
    if (!again) return expr;
    expr = expr.substitute(known_);
  }
}

bool Equalities::learn(const Expr& a, const Expr& b, const std::map<std::string, int>& order) {
  const Expr left = resolve(a), right = resolve(b);
  if (left == right) return false;
  const auto position = [&](const std::string& label) {
    const auto found = order.find(label);
    return found == order.end() ? -1 : found->second;
  };
  // Prefer to drop a dimension that is a plain name (total = past + new), the later one of two.
  std::string drop;
  Expr value;
  const std::optional<std::string> left_name = left.as_symbol(), right_name = right.as_symbol();
  const bool left_fits = left_name && !contains(right, *left_name);
  const bool right_fits = right_name && !contains(left, *right_name);
  if (left_fits && (!right_fits || position(*left_name) > position(*right_name))) {
    drop = *left_name, value = right;
  } else if (right_fits) {
    drop = *right_name, value = left;
  } else {
    const Expr difference = left - right;
    for (const std::string& symbol : difference.symbols()) {
      const std::optional<Expr> solution = solve_for(difference, symbol);
      if (solution && (drop.empty() || position(symbol) > position(drop))) {
        drop = symbol, value = *solution;
      }
    }
  }
  if (drop.empty()) return false;
  known_.emplace(drop, value);
  return true;
}

bool Equalities::learn_limit(const Expr& expr, int64_t high) {
  for (Limit& limit : limits_) {
    if (!(limit.expr == expr)) continue;
    if (limit.high <= high) return false;
    limit.high = high;
    return true;
  }
  limits_.push_back({expr, high});
  return true;
}

Symbols::Symbols(Graph& graph, const std::vector<DeclaredInput>& inputs,
                 const ImportOptions& options, Equalities& equalities)
    : graph_(graph), equalities_(equalities) {
  // Labels that options fix or rename count as learned before anything else.
  std::set<std::string> labels;
  for (const DeclaredInput& input : inputs) {
    for (const Expr& dim : input.dims) {
      for (const std::string& label : dim.symbols()) {
        labels.insert(label);
        order_.emplace(label, static_cast<int>(order_.size()));
      }
    }
  }
  for (const auto& [label, range] : options.dims) {
    if (labels.count(label) == 0) {
      std::string list;
      for (const std::string& known : labels) list += (list.empty() ? "" : ", ") + known;
      throw UsageError("the model has no dimension '" + label + "'; it has: " +
                       (list.empty() ? "none that is symbolic" : list) + ".");
    }
    if (range.low > range.high || range.low < 0) {
      throw UsageError("the range of dimension '" + label + "' is empty or negative.");
    }
    if (range.low == range.high) equalities_.learn(Expr::symbol(label), range.low, order_);
  }
  // A dimension that only inputs named after a cache have may be 0.
  std::map<std::string, bool> cache_only;
  for (const DeclaredInput& input : inputs) {
    for (const Expr& dim : input.dims) {
      const std::optional<std::string> label = equalities_.resolve(dim).as_symbol();
      if (!label) continue;
      const bool cache = mentions_cache(input.name);
      const auto [entry, is_new] = cache_only.emplace(*label, cache);
      entry->second = entry->second && cache;
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t axis = 0; axis < inputs[i].dims.size(); ++axis) {
      const std::optional<std::string> label = equalities_.resolve(inputs[i].dims[axis]).as_symbol();
      if (!label || by_label_.count(*label) != 0) continue;
      add(*label, static_cast<int32_t>(i), static_cast<int64_t>(axis),
          range_of(*label, cache_only[*label], options));
    }
  }
  solve(inputs, options);
  ranges_ = graph_.ranges();
}

void Symbols::add(const std::string& label, int32_t input, int64_t axis, Range range) {
  SymbolSource source;
  source.input = input;
  source.axis = axis;
  for (const Equalities::Limit& limit : equalities_.limits()) {
    if (equalities_.resolve(limit.expr) == Expr::symbol(label)) {
      range.high = std::min(range.high, std::max(limit.high, range.low));
    }
  }
  const Expr symbol = graph_.add_symbol(label, range, source);
  by_label_.emplace(label, symbol);
  label_of_.emplace(*symbol.as_symbol(), Expr::symbol(label));
}

// Symbols that occur inside of expressions only: s in "s + t" is the dimension minus t.
void Symbols::solve(const std::vector<DeclaredInput>& inputs, const ImportOptions& options) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t axis = 0; axis < inputs[i].dims.size(); ++axis) {
      const Expr dim = equalities_.resolve(inputs[i].dims[axis]);
      std::vector<std::string> unknown;
      for (const std::string& label : dim.symbols()) {
        if (by_label_.count(label) == 0) unknown.push_back(label);
      }
      if (unknown.empty()) continue;
      // The helper symbol holds the whole dimension.
      const std::string whole = inputs[i].name + "[" + std::to_string(axis) + "]";
      const Expr helper = Expr::symbol(whole);
      const std::optional<Expr> solution =
          unknown.size() == 1 ? solve_for(dim - helper, unknown[0]) : std::nullopt;
      if (!solution) {
        throw ModelError("the dimension '" + dim.str() + "' of input '" + inputs[i].name +
                         "' does not determine its symbols; give the input a plain shape with "
                         "--input " + inputs[i].name + ":...");
      }
      add(whole, static_cast<int32_t>(i), static_cast<int64_t>(axis), {0, kLargestDimension});
      SymbolSource source;
      source.kind = SymbolSource::Kind::expression;
      source.expression = solution->substitute(by_label_);
      const Expr symbol =
          graph_.add_symbol(unknown[0], range_of(unknown[0], false, options), source);
      by_label_.emplace(unknown[0], symbol);
      label_of_.emplace(*symbol.as_symbol(), Expr::symbol(unknown[0]));
    }
  }
}

Shape Symbols::input_shape(const DeclaredInput& input) const {
  Shape shape;
  for (const Expr& dim : input.dims) {
    shape.push_back(simplify(equalities_.resolve(dim).substitute(by_label_), ranges_));
  }
  return shape;
}

Expr Symbols::merge(const Expr& a, const Expr& b) {
  if (a == b) return a;
  const Expr difference = simplified(a - b);
  if (difference.is_constant(0)) return a;
  const Range range = bounds(difference, ranges_);
  if (difference.is_constant() || range.low > 0 || range.high < 0) {
    throw ModelError("the dimensions " + a.str() + " and " + b.str() + " must be equal.");
  }
  if (!from_inputs(difference)) {
    // Sizes that a run computes are checked by the operators themselves.
  } else if (equalities_.learn(a.substitute(label_of_), b.substitute(label_of_), order_)) {
    learned_ = true;
  } else if (!learn_clamps(a, b)) {
    zero_.insert(difference);
  }
  return b.is_constant() || (!a.is_constant() && b.as_symbol() && !a.as_symbol()) ? b : a;
}

bool Symbols::from_inputs(const Expr& expr) const {
  const std::set<std::string> names = expr.symbols();
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return label_of_.count(name) != 0; });
}

bool Symbols::learn_clamps(const Expr& a, const Expr& b) {
  std::vector<Equalities::Limit> limits;
  const Expr difference = drop_clamps(a, limits) - drop_clamps(b, limits);
  if (limits.empty() || !simplified(difference).is_constant(0)) return false;
  for (const Equalities::Limit& limit : limits) {
    if (equalities_.learn_limit(limit.expr.substitute(label_of_), limit.high)) learned_ = true;
  }
  return true;
}

Expr Symbols::clamp_above(const Expr& expr, const Expr& bound) const {
  if (bounds(bound - expr, ranges_).low >= 0) return expr;
  for (const Equalities::Limit& limit : equalities_.limits()) {
    const Expr limited = equalities_.resolve(limit.expr).substitute(by_label_);
    if (bound.is_constant() && limit.high <= bound.constant() &&
        bounds(limited - expr, ranges_).low >= 0) {
      return expr;
    }
  }
  return simplified(min(expr, bound));
}

void Symbols::add_conditions() {
  const auto add_condition = [&](const Expr& expr, Range range, const std::string& label) {
    if (expr.is_constant()) return;
    SymbolSource source;
    source.kind = SymbolSource::Kind::expression;
    source.expression = expr;
    graph_.add_symbol(label, range, source);
  };
  for (const Equalities::Limit& limit : equalities_.limits()) {
    const Expr labels = equalities_.resolve(limit.expr);
    if (labels.as_symbol()) continue;  // in the symbol's own range
    add_condition(labels.substitute(by_label_), {-Range::kUnbounded, limit.high}, labels.str());
  }
  for (const Expr& difference : zero_) {
    add_condition(difference, {0, 0}, difference.substitute(label_of_).str());
  }
}

Expr Symbols::runtime(Graph& graph, const std::string& label, Range range, ValueId value,
                      int64_t index) {
  SymbolSource source;
  source.kind = SymbolSource::Kind::value;
  source.input = value;
  source.axis = index;
  if (&graph == &graph_) {
    const Expr symbol = graph.add_symbol(label, range, source);
    ranges_[*symbol.as_symbol()] = range;
    return symbol;
  }
  Symbol symbol{"t" + std::to_string(inner_symbols_++), label, range, source};
  ranges_[symbol.name] = range;
  graph.symbols.push_back(symbol);
  return Expr::symbol(symbol.name);
}

Expr Symbols::inner_dimension(Graph& subgraph, int32_t input, int64_t axis) {
  Symbol symbol{"t" + std::to_string(inner_symbols_++), "", {0, kLargestDimension}, {}};
  symbol.source.input = input;
  symbol.source.axis = axis;
  ranges_[symbol.name] = symbol.range;
  subgraph.symbols.push_back(symbol);
  return Expr::symbol(symbol.name);
}

}  // namespace mcc::frontend
