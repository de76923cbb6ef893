// The table of PTX opcodes.
#include "runtime/sim/decode/decoder.h"

namespace mcc::sim {
namespace {

using D = Decoder;
using C = InstClass;

constexpr OpcodeRow kRows[] = {
    // integer and floating-point arithmetic: the class of floating types is set by the decoder
    {"add", Op::add, C::integer, &D::arithmetic},
    {"sub", Op::sub, C::integer, &D::arithmetic},
    {"addc", Op::addc, C::integer, &D::arithmetic},
    {"subc", Op::subc, C::integer, &D::arithmetic},
    {"mul", Op::mul, C::integer, &D::multiply},
    {"mad", Op::mad, C::integer, &D::multiply},
    {"madc", Op::madc, C::integer, &D::multiply},
    {"mul24", Op::mul24, C::integer, &D::multiply},
    {"mad24", Op::mad24, C::integer, &D::multiply},
    {"sad", Op::sad, C::integer, &D::arithmetic},
    {"div", Op::div, C::integer, &D::arithmetic},
    {"rem", Op::rem, C::integer, &D::arithmetic},
    {"abs", Op::abs, C::integer, &D::arithmetic},
    {"neg", Op::neg, C::integer, &D::arithmetic},
    {"min", Op::min, C::integer, &D::arithmetic},
    {"max", Op::max, C::integer, &D::arithmetic},
    {"popc", Op::popc, C::integer, &D::arithmetic},
    {"clz", Op::clz, C::integer, &D::arithmetic},
    {"bfind", Op::bfind, C::integer, &D::arithmetic},
    {"brev", Op::brev, C::integer, &D::arithmetic},
    {"bmsk", Op::bmsk, C::integer, &D::arithmetic},
    {"szext", Op::szext, C::integer, &D::arithmetic},
    {"fns", Op::fns, C::integer, &D::arithmetic},
    {"bfe", Op::bfe, C::integer, &D::bit_field},
    {"bfi", Op::bfi, C::integer, &D::bit_field},
    {"dp4a", Op::dp4a, C::integer, &D::dot},
    {"dp2a", Op::dp2a, C::integer, &D::dot},
    {"fma", Op::fma, C::fp32, &D::arithmetic},
    {"copysign", Op::copysign, C::fp32, &D::arithmetic},
    {"testp", Op::testp, C::predicate, &D::test},
    {"rcp", Op::rcp, C::special_function, &D::arithmetic},
    {"sqrt", Op::sqrt, C::special_function, &D::arithmetic},
    {"rsqrt", Op::rsqrt, C::special_function, &D::arithmetic},
    {"sin", Op::sin, C::special_function, &D::arithmetic},
    {"cos", Op::cos, C::special_function, &D::arithmetic},
    {"lg2", Op::lg2, C::special_function, &D::arithmetic},
    {"ex2", Op::ex2, C::special_function, &D::arithmetic},
    {"tanh", Op::tanh, C::special_function, &D::arithmetic},
    // logic
    {"and", Op::and_, C::integer, &D::logic},
    {"or", Op::or_, C::integer, &D::logic},
    {"xor", Op::xor_, C::integer, &D::logic},
    {"not", Op::not_, C::integer, &D::logic},
    {"cnot", Op::cnot, C::integer, &D::logic},
    {"lop3", Op::lop3, C::integer, &D::logic},
    {"shf", Op::shf, C::integer, &D::shift},
    {"shl", Op::shl, C::integer, &D::shift},
    {"shr", Op::shr, C::integer, &D::shift},
    {"prmt", Op::prmt, C::integer, &D::permute},
    // comparison and selection
    {"set", Op::set, C::predicate, &D::comparison},
    {"setp", Op::setp, C::predicate, &D::comparison},
    {"selp", Op::selp, C::move, &D::selection},
    {"slct", Op::slct, C::move, &D::selection},
    // moves
    {"mov", Op::mov, C::move, &D::move},
    {"activemask", Op::activemask, C::warp_communication, &D::move},
    {"cvt", Op::cvt, C::conversion, &D::convert},
    {"cvta", Op::cvta, C::integer, &D::address_space},
    {"isspacep", Op::isspacep, C::predicate, &D::address_space},
    {"mapa", Op::mapa, C::integer, &D::address_space},
    // memory
    {"ld", Op::ld, C::load_global, &D::load_store},
    {"ldu", Op::ld, C::load_global, &D::load_store},
    {"st", Op::st, C::store_global, &D::load_store},
    {"atom", Op::atom, C::atomic, &D::atomic},
    {"red", Op::red, C::atomic, &D::atomic},
    {"prefetch", Op::prefetch, C::other, &D::hint},
    {"prefetchu", Op::prefetch, C::other, &D::hint},
    {"discard", Op::prefetch, C::other, &D::hint},
    {"applypriority", Op::prefetch, C::other, &D::hint},
    {"nanosleep", Op::nop, C::other, &D::hint},
    {"griddepcontrol", Op::nop, C::other, &D::hint},
    {"setmaxnreg", Op::nop, C::other, &D::hint},
    {"pmevent", Op::nop, C::other, &D::hint},
    {"membar", Op::fence, C::other, &D::hint},
    {"fence", Op::fence, C::other, &D::hint},
    // control
    {"bra", Op::bra, C::control, &D::branch},
    {"brx", Op::brx, C::control, &D::branch},
    {"call", Op::call, C::control, &D::call},
    {"ret", Op::ret, C::control, &D::finish_thread},
    {"exit", Op::exit, C::control, &D::finish_thread},
    {"trap", Op::trap, C::control, &D::finish_thread},
    {"brkpt", Op::trap, C::control, &D::finish_thread},
    // blocks and warps
    {"bar", Op::bar_sync, C::barrier, &D::barrier},
    {"barrier", Op::bar_sync, C::barrier, &D::barrier},
    {"shfl", Op::shfl, C::warp_communication, &D::communicate},
    {"vote", Op::vote, C::warp_communication, &D::communicate},
    {"match", Op::match, C::warp_communication, &D::communicate},
    {"redux", Op::redux, C::warp_communication, &D::communicate},
    {"elect", Op::elect, C::warp_communication, &D::communicate},
    // matrices and asynchronous copies
    {"mma", Op::mma, C::matrix, &D::matrix},
    {"ldmatrix", Op::ldmatrix, C::load_shared, &D::matrix},
    {"stmatrix", Op::stmatrix, C::store_shared, &D::matrix},
    {"movmatrix", Op::movmatrix, C::matrix, &D::matrix},
    {"cp", Op::cp_async, C::async_copy, &D::async},
    {"mbarrier", Op::mbarrier_init, C::barrier, &D::async},
};

}  // namespace

const OpcodeRow* find_opcode(std::string_view name) {
  for (const OpcodeRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace mcc::sim
