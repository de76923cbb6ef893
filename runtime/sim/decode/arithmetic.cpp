// Decoding of arithmetic, logic, comparison and selection.
#include <algorithm>

#include "runtime/sim/decode/decoder.h"

namespace mcc::sim {
namespace {

struct CompareName {
  std::string_view name;
  Compare compare;
};
constexpr CompareName kCompares[] = {
    {"eq", Compare::eq}, {"ne", Compare::ne}, {"lt", Compare::lt}, {"le", Compare::le}, {"gt", Compare::gt},
    {"ge", Compare::ge}, {"lo", Compare::lt}, {"ls", Compare::le}, {"hi", Compare::gt}, {"hs", Compare::ge},
    {"equ", Compare::equ}, {"neu", Compare::neu}, {"ltu", Compare::ltu}, {"leu", Compare::leu}, {"gtu", Compare::gtu},
    {"geu", Compare::geu}, {"num", Compare::num}, {"nan", Compare::nan},
};

bool is_half(Type type) {
  return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}

}  // namespace

void Decoder::arithmetic(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  read_suffixes(form);
  if (take("u16x2")) form.mode = "u16x2";
  if (take("s16x2")) form.mode = "s16x2";
  if (!form.mode.empty()) form.type = Type::b32;
  if (row.op == Op::min || row.op == Op::max) {
    form.xorsign = take("xorsign");
    if (form.xorsign && !take("abs")) fail(".xorsign needs .abs");
  }
  if (row.op == Op::bfind && take("shiftamt")) form.mode = "shiftamt";
  if (row.op == Op::bmsk || row.op == Op::szext) {
    form.mode = take("wrap") ? "wrap" : "clamp";
    if (form.mode == "clamp") take("clamp");
  }
  if (form.full) form.full = false;  // div.full: within 2 ulp, the exact quotient is
  if (form.approx && row.op == Op::div && form.type != Type::f32) fail(".approx needs .f32");
  // Mixed precision (add.f32.f16) is refused: two float types.
  if (form.type2 != Type::none) fail("two types are not supported here");
  if (form.type == Type::none) fail("the type is missing");
  Inst in = start(row);
  const Type type = form.type;
  if (type == Type::f64) in.klass = InstClass::fp64;
  else if (is_half(type)) in.klass = InstClass::fp16;
  else if (is_float(type) && in.klass == InstClass::integer) in.klass = InstClass::fp32;
  // Several results are 32 bits wide whatever the source: popc.b64, clz.b64, bfind.u64.
  in.dst = destination(operand(0));
  in.a = value(operand(1), type);
  const size_t count = operand_count();
  // Counts and positions are 32-bit.
  const Type second = row.op == Op::szext ? Type::u32 : type;
  in.b = count > 2 ? value(operand(2), second) : in.a;
  in.c = count > 3 ? value(operand(3), type) : in.b;
  if (count > 4) fail("there are too many operands");
  form.three = (row.op == Op::min || row.op == Op::max) && count == 4;
  const size_t wanted = row.op == Op::fma || row.op == Op::sad || row.op == Op::fns ? 4 : row.op == Op::add || row.op == Op::sub || row.op == Op::div || row.op == Op::rem || row.op == Op::addc || row.op == Op::subc || row.op == Op::copysign || row.op == Op::bmsk || row.op == Op::szext ? 3 : 2;
  if ((row.op == Op::min || row.op == Op::max) ? count != 3 && count != 4 : count != wanted) fail("the number of operands is wrong");
  if (is_half(type)) {
    in.flags = static_cast<uint8_t>((form.ftz ? 1 : 0) | (form.saturate ? 2 : 0) | (form.relu ? 4 : 0) | (form.nan ? 8 : 0) | (form.xorsign ? 16 : 0));
    const bool pair = size_of(type) == 4;
    in.flags2 = row.op == Op::abs || row.op == Op::neg ? (type == Type::bf16 || type == Type::bf16x2) : pair;
    const uint64_t sign = pair ? 0x80008000u : 0x8000u, all = pair ? 0xffffffffu : 0xffffu;
    if (row.op == Op::abs) in.imm = static_cast<int64_t>(all & ~sign);
    if (row.op == Op::neg) in.imm = static_cast<int64_t>(all | sign << 32);
    if (row.op == Op::ex2 || row.op == Op::tanh) form.approx = true;
  } else if (form.relu && !(type == Type::s32 || form.mode == "s16x2")) {
    fail(".relu needs a half type, s32 or s16x2");
  } else if (is_float(type)) {
    in.flags = static_cast<uint8_t>(form.rounding);
    in.flags2 = form.saturate ? 1 : 0;
  } else if (row.op == Op::bfind) {
    in.flags = form.mode == "shiftamt" ? 1 : 0;
  } else if (row.op == Op::bmsk || row.op == Op::szext) {
    in.flags = form.mode == "wrap" ? 1 : 0;
  }
  emit(in, form);
}

void Decoder::multiply(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  read_suffixes(form);
  if (is_float(form.type)) {
    if (row.op == Op::mad) form.op = Op::fma;
    Inst in = start(row);
    in.klass = form.type == Type::f64 ? InstClass::fp64 : is_half(form.type) ? InstClass::fp16 : InstClass::fp32;
    in.dst = destination(operand(0));
    in.a = value(operand(1), form.type);
    in.b = value(operand(2), form.type);
    in.c = row.op == Op::mul ? in.b : value(operand(3), form.type);
    if (is_half(form.type)) in.flags = static_cast<uint8_t>((form.ftz ? 1 : 0) | (form.saturate ? 2 : 0) | (form.relu ? 4 : 0));
    else {
      in.flags = static_cast<uint8_t>(form.rounding);
      in.flags2 = form.saturate ? 1 : 0;
    }
    return emit(in, form);
  }
  const bool wide = form.part == Part::wide;
  const Type sum = !wide ? form.type
                   : size_of(form.type) == 2 ? Type::u32
                                             : Type::u64;
  Inst in = start(row);
  in.dst = destination(operand(0));
  in.a = value(operand(1), form.type);
  in.b = value(operand(2), form.type);
  in.c = operand_count() > 3 ? value(operand(3), sum) : in.b;
  const bool three = row.op == Op::mad || row.op == Op::mad24 || row.op == Op::madc;
  if (operand_count() != (three ? 4u : 3u)) fail("the number of operands is wrong");
  emit(in, form);
}

void Decoder::shift(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  Inst in = start(row);
  if (row.op == Op::shf) {
    const bool left = take("l");
    if (!left && !take("r")) fail("a direction (.l or .r) is needed");
    form.mode = take("wrap") ? "wrap" : "clamp";
    if (form.mode == "clamp") take("clamp");
    read_suffixes(form);
    if (form.type != Type::b32) fail("only .b32 exists");
    form.part = left ? Part::lo : Part::hi;
    in.c = value(operand(3), Type::u32);
  } else {
    read_suffixes(form);
  }
  in.dst = destination(operand(0));
  in.a = value(operand(1), form.type);
  in.b = value(operand(2), row.op == Op::shf ? Type::b32 : Type::u32);
  emit(in, form);
}

void Decoder::bit_field(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  read_suffixes(form);
  Inst in = start(row);
  in.dst = destination(operand(0));
  in.a = value(operand(1), form.type);
  if (row.op == Op::bfe) {
    in.b = value(operand(2), Type::u32);
    in.c = value(operand(3), Type::u32);
  } else {
    in.b = value(operand(2), form.type);
    in.c = value(operand(3), Type::u32);
    in.list = list({value(operand(4), Type::u32)});
  }
  emit(in, form);
}

void Decoder::logic(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  read_suffixes(form);
  Inst in = start(row);
  if (form.type == Type::pred) {
    in.klass = InstClass::predicate;
    in.pdst = predicate(operand(0));
    in.pa = predicate(operand(1));
    in.negate = operand(1).negated ? 1 : 0;
    if (operand_count() > 2) {
      in.pb = predicate(operand(2));
      in.negate = static_cast<uint8_t>(in.negate | (operand(2).negated ? 2 : 0));
    }
    return emit(in, form);
  }
  in.dst = destination(operand(0));
  in.a = value(operand(1), form.type);
  in.b = operand_count() > 2 ? value(operand(2), form.type) : in.a;
  if (row.op == Op::lop3) {
    if (form.type != Type::b32) fail("only .b32 exists");
    if (take("or") || take("and")) fail("the form with a predicate is not supported");
    in.c = value(operand(3), form.type);
    in.imm = immediate(operand(4));
  }
  emit(in, form);
}

void Decoder::permute(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  for (std::string_view mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) {
    if (take(mode)) form.mode = mode;
  }
  read_suffixes(form);
  Inst in = start(row);
  in.dst = destination(operand(0));
  in.a = value(operand(1), Type::b32);
  in.b = value(operand(2), Type::b32);
  in.c = value(operand(3), Type::b32);
  emit(in, form);
}

void Decoder::dot(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  read_suffixes(form);
  if ((form.type != Type::u32 && form.type != Type::s32) || (form.type2 != Type::u32 && form.type2 != Type::s32)) fail("two types of u32 and s32 are needed");
  Inst in = start(row);
  in.flags = form.part == Part::hi ? 1 : 0;
  in.dst = destination(operand(0));
  in.a = value(operand(1), Type::u32);
  in.b = value(operand(2), Type::u32);
  in.c = value(operand(3), Type::u32);
  emit(in, form);
}

void Decoder::comparison(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  bool found = false;
  for (const CompareName& name : kCompares) {
    if (found || !take(name.name)) continue;
    form.compare = name.compare;
    found = true;
  }
  if (!found) fail("the comparison is missing");
  if (take("and")) form.combine = Combine::and_;
  else if (take("or")) form.combine = Combine::or_;
  else if (take("xor")) form.combine = Combine::xor_;
  read_suffixes(form, true);
  Inst in = start(row);
  in.flags = static_cast<uint8_t>(form.combine);
  const Type type = row.op == Op::set ? form.type2 : form.type;
  size_t last = 3;
  if (row.op == Op::setp) {
    in.klass = InstClass::predicate;
    const Operand& d = operand(0);
    in.pdst = predicate(d);
    if (d.second_reg >= 0) {
      Operand q;
      q.kind = OperandKind::reg;
      q.reg = d.second_reg;
      in.pdst2 = predicate(q);
    }
  } else {
    in.dst = destination(operand(0));
  }
  const Type to = form.type;
  // What set writes for true.
  const uint64_t yes = row.op == Op::setp                                          ? 0
                       : to == Type::f16 || to == Type::f16x2                      ? 0x3c00u
                       : to == Type::bf16 || to == Type::bf16x2                    ? 0x3f80u
                       : to == Type::f32                                           ? 0x3f800000u
                       : size_of(to) == 2 || (size_of(type) == 4 && is_half(type)) ? 0xffffu
                                                                                   : 0xffffffffu;
  in.imm = static_cast<int64_t>(yes << 8);
  if (is_half(type)) {
    const bool brain = type == Type::bf16 || type == Type::bf16x2;
    in.imm |= (brain ? 1 : 0) | (form.ftz ? 2 : 0);
  } else if (is_bits(type) && form.compare != Compare::eq && form.compare != Compare::ne) {
    fail("bit types can only be compared with eq and ne");
  }
  in.a = value(operand(1), type);
  in.b = value(operand(2), type);
  if (form.combine != Combine::none) {
    in.pa = predicate(operand(last));
    in.negate = operand(last).negated ? 1 : 0;
    ++last;
  }
  if (operand_count() != last) fail("the number of operands is wrong");
  emit(in, form);
}

void Decoder::selection(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  read_suffixes(form);
  Inst in = start(row);
  in.dst = destination(operand(0));
  in.a = value(operand(1), form.type);
  in.b = value(operand(2), form.type);
  if (row.op == Op::selp) {
    in.pa = predicate(operand(3));
    in.negate = operand(3).negated ? 1 : 0;
  } else {
    in.c = value(operand(3), form.type2);
  }
  emit(in, form);
}

void Decoder::test(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  for (std::string_view mode : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    if (take(mode)) form.mode = mode;
  }
  read_suffixes(form);
  Inst in = start(row);
  in.pdst = predicate(operand(0));
  in.a = value(operand(1), form.type);
  emit(in, form);
}

}  // namespace mcc::sim
