// Operands: registers to slots, literals to the pool of constants, symbols to addresses.
#include <algorithm>
#include <cstring>

#include "runtime/sim/decode/decoder.h"

namespace mcc::sim {

const Operand& Decoder::operand(size_t index) const {
  if (index >= statement_->operands.size()) fail("operand " + std::to_string(index + 1) + " is missing");
  return statement_->operands[index];
}

Type Decoder::register_type(const Operand& o) const { return parsed_->registers[static_cast<size_t>(o.reg)].type; }

int Decoder::register_bytes(const Operand& o) const {
  if (o.kind != OperandKind::reg) return 0;
  const int bytes = size_of(register_type(o));
  return bytes == 0 ? 4 : bytes;
}

int32_t Decoder::temporary(int bytes) {
  // Temporaries live within one statement, but several may: they get the end of the frame.
  const auto at = static_cast<int32_t>(slots_.bytes + temporary_bytes_);
  temporary_bytes_ += bytes == 8 ? 256 : 128;
  return at;
}

int32_t Decoder::destination(const Operand& o) {
  if (o.kind == OperandKind::sink) return temporary(8);
  if (o.kind != OperandKind::reg) fail("the destination must be a register");
  if (register_type(o) == Type::pred) fail("a predicate cannot be the destination here");
  return slots_.slot[static_cast<size_t>(o.reg)];
}

int16_t Decoder::predicate(const Operand& o) {
  if (o.kind == OperandKind::sink) return kNoPredicate;
  if (o.kind != OperandKind::reg || register_type(o) != Type::pred) fail("a predicate is needed here");
  return static_cast<int16_t>(slots_.slot[static_cast<size_t>(o.reg)]);
}

int32_t Decoder::constant(uint64_t bits, int bytes) {
  const int lane = bytes == 8 ? 8 : 4;
  if (bytes == 2) bits &= 0xffffu;
  if (bytes == 1) bits &= 0xffu;
  if (lane == 4) bits &= 0xffffffffu;
  auto [place, fresh] = constants_.try_emplace({bits, lane}, 0);
  if (fresh) {
    std::vector<uint8_t>& pool = program_->constants;
    const size_t at = pool.size();
    pool.resize(at + static_cast<size_t>(lane) * kLanes);
    for (int i = 0; i < kLanes; ++i) std::memcpy(pool.data() + at + static_cast<size_t>(i * lane), &bits, static_cast<size_t>(lane));
    place->second = static_cast<int32_t>(static_cast<uint32_t>(at) | static_cast<uint32_t>(kConstantBit));
  }
  return place->second;
}

int64_t Decoder::immediate(const Operand& o) const {
  if (o.kind != OperandKind::immediate || o.floating) fail("an integer literal is needed here");
  return o.bits;
}

int32_t Decoder::value(const Operand& o, Type type) {
  const int bytes = std::max(1, size_of(type));
  switch (o.kind) {
    case OperandKind::reg: {
      if (register_type(o) == Type::pred) fail("a predicate cannot be a value");
      const int have = size_of(register_type(o));
      if (std::max(have, 4) < std::max(bytes, 4) || (bytes <= 4 && have > 4 && statement_->words[0] != "st" && statement_->words[0] != "cvt")) {
        fail("the register has " + std::to_string(8 * have) + " bits where " + std::to_string(8 * bytes) + " are needed");
      }
      return slots_.slot[static_cast<size_t>(o.reg)];
    }
    case OperandKind::immediate: {
      uint64_t bits = static_cast<uint64_t>(o.bits);
      if (o.floating && !o.single && type == Type::f32) {
        double wide;
        std::memcpy(&wide, &o.bits, 8);
        const auto narrow = static_cast<float>(wide);
        uint32_t pattern;
        std::memcpy(&pattern, &narrow, 4);
        bits = pattern;
      } else if (o.single && type == Type::f64) {
        float narrow;
        const auto pattern = static_cast<uint32_t>(o.bits);
        std::memcpy(&narrow, &pattern, 4);
        const double wide = narrow;
        std::memcpy(&bits, &wide, 8);
      }
      return constant(bits, bytes);
    }
    case OperandKind::special: return special(o.name, bytes);
    case OperandKind::symbol: {
      Place place;
      if (symbol_place(o.name, place) && (place.dynamic_shared || place.space == Space::local)) {
        // Known only at run time: through a temporary.
        const int32_t at = temporary(bytes);
        static constexpr OpcodeRow kRow{"mov", Op::mov_special, InstClass::move, nullptr};
        Inst in = start(kRow);
        in.guard = kNoPredicate;
        in.dst = at;
        in.flags = bytes == 8 ? 1 : 0;
        Form form;
        form.op = Op::mov_special;
        if (place.space == Space::local) {
          form.mode = "frame";
          in.imm = place.at + o.bits;
        } else {
          if (o.bits != 0) fail("an offset from dynamic shared memory is not supported here");
          in.imm = kDynamicBase;
        }
        std::vector<std::string_view> saved;
        saved.swap(rest_);
        emit(in, form);
        saved.swap(rest_);
        return at;
      }
      return constant(static_cast<uint64_t>(symbol_address(o, false)), bytes);
    }
    default: fail("this kind of operand cannot be a value");
  }
}

bool Decoder::symbol_place(const std::string& name, Place& place) const {
  auto found = places_.find(name);
  if (found == places_.end()) {
    found = module_places_.find(name);
    if (found == module_places_.end()) return false;
  }
  place = found->second;
  if (place.dynamic_shared) info_->uses_dynamic_shared = true;
  return true;
}

// The address of a variable or function as its own space numbers it.
int64_t Decoder::symbol_address(const Operand& o, bool) const {
  Place place;
  if (symbol_place(o.name, place)) {
    if (place.space == Space::param) return (place.at < 0 ? -1 - place.at : place.at) + o.bits;
    return place.at + o.bits;
  }
  auto function = function_index_.find(o.name);
  if (function == function_index_.end()) fail("'" + o.name + "' is not defined");
  return function->second + 1;
}

int Decoder::special_index(const std::string& name) const {
  static const std::map<std::string, int> kNames = {
      {"%tid.x", kTidX}, {"%tid.y", kTidY}, {"%tid.z", kTidZ}, {"%laneid", kLaneId}, {"%warpid", kWarpId},
      {"%nwarpid", kNumWarps}, {"%ntid.x", kNtidX}, {"%ntid.y", kNtidY}, {"%ntid.z", kNtidZ}, {"%ctaid.x", kCtaidX},
      {"%ctaid.y", kCtaidY}, {"%ctaid.z", kCtaidZ}, {"%nctaid.x", kNctaidX}, {"%nctaid.y", kNctaidY},
      {"%nctaid.z", kNctaidZ}, {"%lanemask_eq", kMaskEq}, {"%lanemask_le", kMaskLe}, {"%lanemask_lt", kMaskLt},
      {"%lanemask_ge", kMaskGe}, {"%lanemask_gt", kMaskGt}, {"%smid", kSmId}, {"%nsmid", kNumSm},
      {"%gridid", kGridId}, {"%dynamic_smem_size", kDynamicBytes}, {"%total_smem_size", kTotalBytes},
      {"%aggr_smem_size", kTotalBytes},
      // Clusters of one block
      {"%clusterid.x", kCtaidX}, {"%clusterid.y", kCtaidY}, {"%clusterid.z", kCtaidZ}, {"%nclusterid.x", kNctaidX},
      {"%nclusterid.y", kNctaidY}, {"%nclusterid.z", kNctaidZ}, {"%cluster_ctaid.x", kZero}, {"%cluster_ctaid.y", kZero},
      {"%cluster_ctaid.z", kZero}, {"%cluster_nctaid.x", kOne}, {"%cluster_nctaid.y", kOne}, {"%cluster_nctaid.z", kOne},
      {"%cluster_ctarank", kZero}, {"%cluster_nctarank", kOne}, {"%is_explicit_cluster", kZero},
  };
  auto found = kNames.find(name);
  return found == kNames.end() ? -1 : found->second;
}

int32_t Decoder::special(const std::string& name, int bytes) {
  const int index = special_index(name);
  if (index < 0) fail("the special register '" + name + "' is not supported here; move it to a register first");
  const int32_t at = temporary(bytes);
  static constexpr OpcodeRow kRow{"mov", Op::mov_special, InstClass::move, nullptr};
  Inst in = start(kRow);
  in.guard = kNoPredicate;
  in.dst = at;
  in.imm = index;
  in.flags = bytes == 8 ? 1 : 0;
  Form form;
  form.op = Op::mov_special;
  std::vector<std::string_view> saved;
  saved.swap(rest_);
  emit(in, form);
  saved.swap(rest_);
  return at;
}

const int32_t* Decoder::list(std::vector<int32_t> items) {
  program_->lists.push_back(std::move(items));
  return program_->lists.back().data();
}

// [reg + n], [symbol + n] or [n] into in.a and in.imm; resolves the space of symbols.
void Decoder::set_address(Inst& in, const Operand& o, Form& form) {
  if (o.kind != OperandKind::address || o.items.empty()) fail("an address is needed here");
  const Operand& base = o.items[0];
  in.imm = o.bits;
  form.address_bytes = 8;
  if (base.kind == OperandKind::reg) {
    form.address_bytes = register_bytes(base);
    if (form.address_bytes < 4 || form.address_bytes > 8) fail("an address register has 32 or 64 bits");
    in.a = slots_.slot[static_cast<size_t>(base.reg)];
  } else if (base.kind == OperandKind::immediate) {
    in.a = constant(0, 8);
    in.imm += immediate(base);
  } else {
    Place place;
    if (!symbol_place(base.name, place)) fail("'" + base.name + "' is not a variable");
    if (place.dynamic_shared) {
      Operand symbol = base;
      symbol.bits = 0;
      in.a = value(symbol, Type::u64);
    } else {
      in.a = constant(0, 8);
      in.imm += place.space == Space::param && place.at < 0 ? -1 - place.at : place.at;
      if (place.space == Space::local) in.flags |= 4;  // frame-relative
    }
    if (form.space == Space::generic) {
      // A generic access to a named variable: its generic address.
      if (place.space == Space::shared) in.imm += static_cast<int64_t>(kSharedBase);
      if (place.space == Space::local) fail("a generic access to a local variable needs cvta first");
    }
    if (place.space == Space::param) form.mode = place.at < 0 ? "frame" : "fixed";
  }
  if (form.address_bytes == 4) in.flags |= 16;
}

}  // namespace mcc::sim
