// Decoding of mov, cvt, cvta and their relatives.
#include <algorithm>

#include "runtime/sim/decode/decoder.h"

namespace mcc::sim {

void Decoder::move(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  read_suffixes(form);
  Inst in = start(row);
  const Operand& to = operand(0);
  if (row.op == Op::activemask) {
    in.dst = destination(to);
    return emit(in, form);
  }
  const Operand& from = operand(1);
  const int bytes = size_of(form.type);
  if (form.type == Type::pred) {
    in.klass = InstClass::predicate;
    in.pdst = predicate(to);
    if (from.kind == OperandKind::immediate) {
      // mov.pred p, 1: compare a constant with zero.
      form.op = Op::setp;
      form.type = Type::u32;
      form.compare = Compare::ne;
      in.a = constant(static_cast<uint64_t>(from.bits), 4);
      in.b = constant(0, 4);
      return emit(in, form);
    }
    in.pa = predicate(from);
    in.negate = from.negated ? 1 : 0;
    return emit(in, form);
  }
  if (from.kind == OperandKind::vector) {
    form.op = Op::mov_pack;
    in.width = static_cast<uint8_t>(from.items.size());
    if (in.width == 0 || bytes % in.width != 0) fail("the vector does not fill the register");
    in.flags = static_cast<uint8_t>(bytes / in.width);
    in.flags2 = static_cast<uint8_t>(bytes);
    std::vector<int32_t> items;
    const Type element = in.flags == 8 ? Type::b64 : in.flags == 4 ? Type::b32 : in.flags == 2 ? Type::b16 : Type::b8;
    for (const Operand& item : from.items) items.push_back(value(item, element));
    in.list = list(std::move(items));
    in.dst = destination(to);
    return emit(in, form);
  }
  if (to.kind == OperandKind::vector) {
    form.op = Op::mov_unpack;
    in.width = static_cast<uint8_t>(to.items.size());
    if (in.width == 0 || bytes % in.width != 0) fail("the vector does not fill the register");
    in.flags = static_cast<uint8_t>(bytes / in.width);
    in.flags2 = static_cast<uint8_t>(bytes);
    std::vector<int32_t> items;
    for (const Operand& item : to.items) items.push_back(item.kind == OperandKind::sink ? kConstantBit : destination(item));
    in.list = list(std::move(items));
    in.a = value(from, form.type);
    return emit(in, form);
  }
  in.dst = destination(to);
  if (from.kind == OperandKind::special) {
    in.flags = register_bytes(to) == 8 ? 1 : 0;
    const int index = special_index(from.name);
    if (index >= 0) {
      form.op = Op::mov_special;
      in.imm = index;
    } else if (from.name == "%clock" || from.name == "%clock64" || from.name == "%clock_hi" || from.name == "%globaltimer" ||
               from.name == "%globaltimer_lo" || from.name == "%globaltimer_hi") {
      form.op = Op::clock;
    } else {
      fail("the special register '" + from.name + "' is not supported");
    }
    return emit(in, form);
  }
  Place place;
  if (from.kind == OperandKind::symbol && symbol_place(from.name, place)) {
    if (place.space == Space::local) {
      form.op = Op::mov_special;
      form.mode = "frame";
      in.imm = place.at + from.bits;
      in.flags = bytes == 8 ? 1 : 0;
      return emit(in, form);
    }
    if (place.space == Space::param && place.at < 0) fail("the address of a function's parameter is not supported");
  }
  in.a = value(from, form.type);
  emit(in, form);
}

void Decoder::convert(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  if (take("pack")) {
    form.op = Op::cvt_pack_int;
    if (!take("sat")) fail(".pack needs .sat");
    read_suffixes(form);
    if (form.type2 != Type::s32) fail("the source must be .s32");
    Inst in = start(row);
    in.flags = form.type == Type::u8 ? 0 : form.type == Type::s8 ? 1 : form.type == Type::u16 ? 2 : 3;
    if (form.type != Type::u8 && form.type != Type::s8 && form.type != Type::u16 && form.type != Type::s16) fail("the result must be 8- or 16-bit integers");
    in.dst = destination(operand(0));
    in.a = value(operand(1), Type::s32);
    in.b = value(operand(2), Type::s32);
    in.c = operand_count() > 3 ? value(operand(3), Type::b32) : constant(0, 4);
    return emit(in, form);
  }
  read_suffixes(form);
  if (form.type == Type::none || form.type2 == Type::none) fail("two types are needed");
  Inst in = start(row);
  const bool pair = operand_count() == 3;
  if (pair) form.op = Op::cvt_pack2;
  const bool small = form.type == Type::f16 || form.type == Type::bf16 || form.type == Type::tf32 || form.type == Type::f16x2 ||
                     form.type == Type::bf16x2 || form.type == Type::e4m3x2 || form.type == Type::e5m2x2;
  auto element = [](Type type) {
    switch (type) {
      case Type::f16x2: return Type::f16;
      case Type::bf16x2: return Type::bf16;
      case Type::e4m3x2: return Type::e4m3;
      case Type::e5m2x2: return Type::e5m2;
      default: return type;
    }
  };
  if (small) {
    in.imm = static_cast<int64_t>(element(form.type2)) | static_cast<int64_t>(element(form.type)) << 8;
    in.flags = static_cast<uint8_t>(form.rounding == Rounding::none ? Rounding::rn : form.rounding);
    in.flags2 = static_cast<uint8_t>((form.saturate ? 1 : 0) | (form.relu ? 2 : 0) | (form.satfinite ? 4 : 0) | (form.ftz ? 8 : 0) | (form.to_integral ? 16 : 0));
    // e4m3 and e5m2 always saturate to finite values.
    if (element(form.type) == Type::e4m3 || element(form.type) == Type::e5m2) in.flags2 = static_cast<uint8_t>(in.flags2 | 4);
  } else {
    if (form.relu || form.satfinite) fail("the combination of suffixes is not supported");
    in.flags = static_cast<uint8_t>(form.rounding);
    in.flags2 = static_cast<uint8_t>((form.saturate ? 1 : 0) | (form.ftz ? 2 : 0));
  }
  form.dst_bytes = register_bytes(operand(0));
  form.src_bytes = register_bytes(operand(1));
  in.dst = destination(operand(0));
  in.a = value(operand(1), form.type2);
  // A 64-bit register as the source of a narrower type: its low half, by an extra conversion.
  if (form.src_bytes == 8 && size_of(form.type2) < 8) {
    Form low;
    low.op = Op::cvt;
    low.type = Type::u32;
    low.type2 = Type::u64;
    Inst first = start(row);
    first.a = in.a;
    first.dst = in.a = temporary(4);
    std::vector<std::string_view> saved;
    saved.swap(rest_);
    emit(first, low);
    saved.swap(rest_);
  }
  if (pair) in.b = value(operand(2), form.type2);
  // Narrow integers from floats in a 64-bit register are not written by any compiler; convert's
  // selector refuses them.
  emit(in, form);
}

void Decoder::address_space(const OpcodeRow& row) {
  Form form;
  form.op = row.op;
  const bool to = take("to");
  Space space = Space::generic;
  if (take("global")) space = Space::global;
  else if (take("shared") || take("shared::cta") || take("shared::cluster")) space = Space::shared;
  else if (take("local")) space = Space::local;
  else if (take("const")) space = Space::constant;
  else if (take("param") || take("param::entry")) space = Space::param;
  else fail("the state space is missing");
  read_suffixes(form);
  Inst in = start(row);
  in.klass = InstClass::integer;
  if (row.op == Op::isspacep) {
    in.pdst = predicate(operand(0));
    in.a = value(operand(1), Type::u64);
    in.imm = space == Space::shared ? 1 : space == Space::local ? 2 : space == Space::param ? 3 : 0;
    return emit(in, form);
  }
  if (row.op == Op::mapa) {
    in.dst = destination(operand(0));
    in.a = value(operand(1), form.type);
    return emit(in, form);
  }
  if (size_of(form.type) != 8) fail("only 64-bit addresses are supported");
  const uint64_t base = space == Space::shared ? kSharedBase : space == Space::local ? kLocalBase : space == Space::param ? kParamBase : 0;
  in.imm = static_cast<int64_t>(to ? 0 - base : base);
  in.dst = destination(operand(0));
  in.a = value(operand(1), Type::u64);
  emit(in, form);
}

}  // namespace mcc::sim
