// The three other state spaces as the generic address path sees them: addresses are offsets in the
// space, w.mask the lanes that go there. Defined in memory_shared.cpp and memory_local.cpp for sizes
// 1, 2, 4 and 8.
#pragma once

#include "runtime/sim/exec/access.h"

namespace mcc::sim::MCC_SIM_ISA {

template <int Size, bool Write, bool Checked> void access_shared(Warp& w, const Inst& in, const Addresses& a);
template <int Size, bool Write, bool Checked> void access_local(Warp& w, const Inst& in, const Addresses& a);
template <int Size, bool Write> void access_parameters(Warp& w, const Inst& in, const Addresses& a);

Handler select_global(const Form& form, int size, bool write);
Handler select_shared(const Form& form, int size, bool write);
Handler select_local(const Form& form, int size, bool write);
Handler select_parameter(const Form& form, int size, bool write);

}  // namespace mcc::sim::MCC_SIM_ISA
