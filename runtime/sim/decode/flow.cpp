// Basic blocks and reconvergence points.
//
// Lanes that diverge at a branch meet again at its immediate post-dominator (Cooper, Harvey and
// Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph). Edges by which single
// threads leave early (a conditional jump to a lone ret, exit or trap) do not count as paths:
// otherwise "if (i >= n) return;" inside a conditional would keep the rest of the warp apart until
// the end of the kernel, and every later barrier would look divergent.
#include "runtime/sim/decode/flow.h"

#include <algorithm>
#include <set>

#include "runtime/sim/error.h"

namespace mcc::sim {

bool is_branch(const Statement& s) { return s.words[0] == "bra" || s.words[0] == "brx"; }
bool ends_thread(const Statement& s) { return s.words[0] == "ret" || s.words[0] == "exit" || s.words[0] == "trap"; }

namespace {

int label_of(const ParsedFunction& function, const std::string& name, int line) {
  auto found = function.labels.find(name);
  if (found == function.labels.end()) fail_at(line, "the label '" + name + "' does not exist");
  return found->second;
}

std::vector<int> targets(const ParsedFunction& function, const Statement& s) {
  std::vector<int> result;
  if (s.words[0] == "bra") {
    if (s.operands.empty()) fail_at(s.line, "bra needs a label");
    result.push_back(label_of(function, s.operands[0].name, s.line));
  } else {
    if (s.operands.size() != 2) fail_at(s.line, "brx.idx needs an index and a table");
    auto table = function.branch_targets.find(s.operands[1].name);
    if (table == function.branch_targets.end()) fail_at(s.line, "the branch table '" + s.operands[1].name + "' does not exist");
    for (const std::string& name : table->second) result.push_back(label_of(function, name, s.line));
  }
  return result;
}

// Post-dominators over `edges` with a virtual exit; -1 where the exit cannot be reached.
std::vector<int> post_dominators(const std::vector<std::vector<int>>& edges, const std::vector<char>& exits) {
  const int n = static_cast<int>(edges.size());
  std::vector<std::vector<int>> predecessors(static_cast<size_t>(n) + 1);
  for (int b = 0; b < n; ++b) {
    for (int s : edges[static_cast<size_t>(b)]) predecessors[static_cast<size_t>(s)].push_back(b);
    if (exits[static_cast<size_t>(b)] != 0) predecessors[static_cast<size_t>(n)].push_back(b);
  }
  // Post-order of the reversed graph from the exit, without recursion.
  std::vector<int> order, number(static_cast<size_t>(n) + 1, -1);
  std::vector<char> seen(static_cast<size_t>(n) + 1, 0);
  std::vector<std::pair<int, size_t>> stack{{n, 0}};
  seen[static_cast<size_t>(n)] = 1;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    const std::vector<int>& list = predecessors[static_cast<size_t>(node)];
    if (next < list.size()) {
      const int to = list[next++];
      if (seen[static_cast<size_t>(to)] == 0) {
        seen[static_cast<size_t>(to)] = 1;
        stack.emplace_back(to, 0);
      }
    } else {
      number[static_cast<size_t>(node)] = static_cast<int>(order.size());
      order.push_back(node);
      stack.pop_back();
    }
  }
  std::vector<int> idom(static_cast<size_t>(n) + 1, -1);
  idom[static_cast<size_t>(n)] = n;
  auto meet = [&](int a, int b) {
    while (a != b) {
      while (number[static_cast<size_t>(a)] < number[static_cast<size_t>(b)]) a = idom[static_cast<size_t>(a)];
      while (number[static_cast<size_t>(b)] < number[static_cast<size_t>(a)]) b = idom[static_cast<size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const int b = *it;
      if (b == n) continue;
      int best = -1;
      auto take = [&](int s) {
        if (idom[static_cast<size_t>(s)] < 0) return;
        best = best < 0 ? s : meet(best, s);
      };
      for (int s : edges[static_cast<size_t>(b)]) take(s);
      if (exits[static_cast<size_t>(b)] != 0) take(n);
      if (best != idom[static_cast<size_t>(b)]) {
        idom[static_cast<size_t>(b)] = best;
        changed = true;
      }
    }
  }
  idom.resize(static_cast<size_t>(n));
  return idom;
}

}  // namespace

Flow analyze_flow(const ParsedFunction& function) {
  Flow flow;
  const std::vector<Statement>& code = function.statements;
  const int count = static_cast<int>(code.size());
  std::set<int> leaders{0};
  for (const auto& [name, at] : function.labels) leaders.insert(at);
  for (int i = 0; i < count; ++i) {
    const Statement& s = code[static_cast<size_t>(i)];
    if (is_branch(s)) {
      for (int t : targets(function, s)) leaders.insert(t);
      leaders.insert(i + 1);
    } else if (ends_thread(s)) {
      leaders.insert(i + 1);
    }
  }
  leaders.erase(count);
  flow.block_of.assign(static_cast<size_t>(count), 0);
  for (auto it = leaders.begin(); it != leaders.end(); ++it) {
    auto after = std::next(it);
    BasicBlock block{*it, after == leaders.end() ? count : *after, {}};
    for (int i = block.first; i < block.end; ++i) flow.block_of[static_cast<size_t>(i)] = static_cast<int>(flow.blocks.size());
    if (block.first < block.end) flow.blocks.push_back(block);
  }
  const size_t n = flow.blocks.size();
  std::vector<char> exits(n, 0), lone_end(n, 0);
  for (size_t b = 0; b < n; ++b) {
    BasicBlock& block = flow.blocks[b];
    const Statement& last = code[static_cast<size_t>(block.end - 1)];
    std::set<int> next;
    auto go = [&](int statement) {
      if (statement >= count) exits[b] = 1;
      else next.insert(flow.block_of[static_cast<size_t>(statement)]);
    };
    if (is_branch(last)) {
      for (int t : targets(function, last)) go(t);
      if (last.guard >= 0) go(block.end);
    } else if (ends_thread(last)) {
      exits[b] = 1;
      if (last.guard >= 0) go(block.end);
    } else {
      go(block.end);
    }
    block.successors.assign(next.begin(), next.end());
    const bool short_block = block.end - block.first == 1 || last.words[0] != "ret";
    lone_end[b] = next.empty() && ends_thread(last) && short_block ? 1 : 0;
  }

  // Early exits: drop the edge where another way goes on, restore it where nothing else ends.
  std::vector<std::vector<int>> edges(n);
  std::vector<char> leave = exits;
  for (size_t b = 0; b < n; ++b) {
    const std::vector<int>& all = flow.blocks[b].successors;
    for (int s : all) {
      if (lone_end[static_cast<size_t>(s)] == 0) edges[b].push_back(s);
    }
    if (edges[b].empty()) edges[b] = all;
    else if (exits[b] != 0) leave[b] = 0;  // a guarded ret
  }
  std::vector<int> idom = post_dominators(edges, leave);
  bool restored = false;
  for (size_t b = 0; b < n; ++b) {
    if (idom[b] >= 0) continue;
    edges[b] = flow.blocks[b].successors;
    leave[b] = exits[b];
    restored = true;
  }
  if (restored) idom = post_dominators(edges, leave);

  flow.reconverge.assign(n, -1);
  for (size_t b = 0; b < n; ++b) {
    if (idom[b] >= 0 && idom[b] < static_cast<int>(n)) flow.reconverge[b] = flow.blocks[static_cast<size_t>(idom[b])].first;
  }
  return flow;
}

}  // namespace mcc::sim
