// The version comes from CMakeLists.txt alone.
#include "lib/support/version.h"

namespace mcc {

std::string_view version() { return MCC_VERSION; }

}  // namespace mcc
