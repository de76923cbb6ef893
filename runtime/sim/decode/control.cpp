// Decoding of branches, calls, barriers and exchanges between lanes.
#include <algorithm>

#include "runtime/sim/decode/decoder.h"

namespace mcc::sim {

void Decoder::branch(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  take("uni");
  Inst in = start(row);
  const int block = flow_.block_of[static_cast<size_t>(statement_index_)];
  Patch patch{static_cast<int32_t>(program_->code[0].size()), -1, flow_.reconverge[static_cast<size_t>(block)], {}};
  if (row.op == Op::bra) {
    patch.target = parsed_->labels.at(operand(0).name);
  } else {
    if (!take("idx")) fail("only brx.idx exists");
    const std::vector<std::string>& names = parsed_->branch_targets.at(operand(1).name);
    for (const std::string& name : names) patch.table.push_back(parsed_->labels.at(name));
    in.a = value(operand(0), Type::u32);
    in.imm = static_cast<int64_t>(names.size());
    // The temporary of a special register would move the instruction.
    patch.inst = static_cast<int32_t>(program_->code[0].size());
  }
  patches_.push_back(std::move(patch));
  const Handler handler = select_control(row.op, form);
  emit_with(in, handler, handler);
}

// call (ret), f, (args);  call f, (args);  call (ret), %reg, (args), proto;
void Decoder::call(const OpcodeRow& row) {
  Form form;
  take("uni");
  Inst in = start(row);
  size_t at = 0;
  CallSite site;
  const Operand* returns = nullptr;
  if (operand(0).kind == OperandKind::list) returns = &operand(at++);
  const Operand& callee = operand(at++);
  const Operand* arguments = at < operand_count() && operand(at).kind == OperandKind::list ? &operand(at) : nullptr;
  auto words = [&](const Operand* list, std::vector<uint32_t>& out) {
    if (list == nullptr) return;
    for (const Operand& item : list->items) {
      Place place;
      if (item.kind != OperandKind::symbol || !symbol_place(item.name, place) || place.space != Space::param || place.at >= 0) {
        fail("arguments and results of calls must be .param variables");
      }
      out.push_back(static_cast<uint32_t>(-1 - place.at) / 4);
    }
  };
  words(returns, site.return_words);
  words(arguments, site.argument_words);
  Op op = Op::call;
  if (callee.kind == OperandKind::reg) {
    in.a = value(callee, Type::u64);
    op = Op::call_indirect;
  } else {
    auto found = function_index_.find(callee.name);
    if (found == function_index_.end()) fail("the function '" + callee.name + "' does not exist");
    site.function = found->second;
    const FunctionInfo& target = program_->functions[static_cast<size_t>(site.function)];
    if (!target.defined) {
      if (callee.name != "vprintf" && callee.name != "__assertfail") {
        fail("the function '" + callee.name + "' has no body; of the runtime's functions only vprintf and __assertfail are supported");
      }
      site.builtin = callee.name;
      op = Op::call_printf;
    } else {
      if (target.params.size() != site.argument_words.size() || target.returns.size() != site.return_words.size()) fail("the number of arguments differs from the function's parameters");
      for (size_t i = 0; i < target.params.size(); ++i) {
        site.arguments.push_back({site.argument_words[i], static_cast<uint32_t>(target.params[i].offset / 4), static_cast<uint32_t>((target.params[i].bytes + 3) / 4)});
      }
      for (size_t i = 0; i < target.returns.size(); ++i) {
        site.returns.push_back({static_cast<uint32_t>(target.returns[i].offset / 4), site.return_words[i], static_cast<uint32_t>((target.returns[i].bytes + 3) / 4)});
      }
    }
  }
  in.imm = static_cast<int64_t>(program_->calls.size());
  program_->calls.push_back(std::move(site));
  const Handler handler = select_control(op, form);
  emit_with(in, handler, handler);
}

void Decoder::finish_thread(const OpcodeRow& row) {
  take("uni");
  Op op = row.op;
  if (op == Op::ret && info_->entry) op = Op::exit;
  const Handler handler = select_control(op, {});
  emit_with(start(row), handler, handler);
}

// bar{.cta}.sync a{, n}; bar.arrive a, n; bar.red.op d, a{, n}, p; bar.warp.sync mask;
// barrier.* are the same without .aligned, and barrier.cluster with clusters of one block.
void Decoder::barrier(const OpcodeRow& row) {
  Form form;
  Inst in = start(row);
  const bool legacy = statement_->words[0] == "bar";
  if (take("warp")) {
    if (!take("sync")) fail("only bar.warp.sync exists");
    in.a = value(operand(0), Type::u32);
    const Handler handler = select_control(Op::bar_warp, form);
    return emit_with(in, handler, handler);
  }
  take("cta");
  if (take("cluster")) {
    for (std::string_view word : {"arrive", "wait", "acquire", "release", "relaxed", "aligned"}) {
      if (word == "wait" && take(word)) form.mode = "wait";
      else take(word);
    }
    const Handler handler = select_control(form.mode == "wait" ? Op::fence : Op::nop, form);
    return emit_with(in, handler, handler);
  }
  // in.flags: 1 aligned, 2 the thread count is given, 4 arrive only, 8 reduction; in.flags2: 0 and, 1 or, 2 popc
  if (legacy || take("aligned")) in.flags |= 1;
  take("aligned");
  size_t at = 0;
  if (take("arrive")) {
    in.flags |= 4;
  } else if (take("red")) {
    in.flags |= 8;
    if (take("popc")) {
      in.flags2 = 2;
      take("u32");
      in.dst = destination(operand(at++));
    } else {
      in.flags2 = take("or") ? 1 : 0;
      if (in.flags2 == 0 && !take("and")) fail("the operation is missing");
      take("pred");
      in.pdst = predicate(operand(at++));
    }
  } else if (!take("sync")) {
    fail("sync, arrive or red is needed");
  }
  in.a = value(operand(at++), Type::u32);
  const bool reduction = (in.flags & 8) != 0;
  if (operand_count() > at + (reduction ? 1 : 0)) {
    in.flags |= 2;
    in.b = value(operand(at++), Type::u32);
  }
  if (reduction) {
    in.pa = predicate(operand(at));
    in.negate = operand(at).negated ? 1 : 0;
    ++at;
  }
  if (operand_count() != at) fail("the number of operands is wrong");
  const Handler handler = select_control(Op::bar_sync, form);
  emit_with(in, handler, handler);
}

void Decoder::communicate(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  if (!take("sync")) fail("only the .sync form exists since sm_70; compile for a newer target");
  Inst in = start(row);
  const Operand& d = operand(0);
  auto second = [&]() {
    if (d.second_reg < 0) return int16_t{kNoPredicate};
    Operand q;
    q.kind = OperandKind::reg;
    q.reg = d.second_reg;
    return predicate(q);
  };
  switch (row.op) {
    case Op::shfl:
      if (take("up")) form.shuffle = ShuffleMode::up;
      else if (take("down")) form.shuffle = ShuffleMode::down;
      else if (take("bfly")) form.shuffle = ShuffleMode::bfly;
      else if (take("idx")) form.shuffle = ShuffleMode::idx;
      else fail("the mode is missing");
      read_suffixes(form);
      in.dst = destination(d);
      in.pdst = second();
      in.a = value(operand(1), Type::b32);
      in.b = value(operand(2), Type::b32);
      in.c = value(operand(3), Type::b32);
      in.list = list({value(operand(4), Type::b32)});
      break;
    case Op::vote:
      if (take("all")) form.vote = VoteMode::all;
      else if (take("any")) form.vote = VoteMode::any;
      else if (take("uni")) form.vote = VoteMode::uni;
      else if (take("ballot")) form.vote = VoteMode::ballot;
      else fail("the mode is missing");
      read_suffixes(form);
      if (form.vote == VoteMode::ballot) in.dst = destination(d);
      else in.pdst = predicate(d);
      if (operand(1).kind == OperandKind::immediate) fail("a constant predicate is not supported");
      in.pa = predicate(operand(1));
      in.negate = operand(1).negated ? 1 : 0;
      in.b = value(operand(2), Type::b32);
      break;
    case Op::match:
      form.mode = take("all") ? "all" : "any";
      if (form.mode == "any" && !take("any")) fail("the mode is missing");
      read_suffixes(form);
      in.dst = destination(d);
      in.pdst = second();
      in.a = value(operand(1), form.type);
      in.b = value(operand(2), Type::b32);
      break;
    case Op::redux:
      for (std::string_view name : {"add", "min", "max", "and", "or", "xor"}) {
        if (take(name)) form.mode = name;
      }
      form.abs = take("abs");
      read_suffixes(form);
      in.dst = destination(d);
      in.a = value(operand(1), form.type);
      in.b = value(operand(2), Type::b32);
      break;
    default:  // elect.sync d|p, mask
      in.dst = d.kind == OperandKind::sink ? kConstantBit : destination(d);
      in.pdst = second();
      in.b = value(operand(1), Type::b32);
      break;
  }
  emit(in, form);
}

}  // namespace mcc::sim
