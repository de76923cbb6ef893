// Joins the embedded prelude files.
#include "lib/backend/prelude.h"

#include "skeletons.h"

namespace mcc::backend {

std::string cuda_prelude() { return std::string(skeletons::prelude_cu); }

std::string host_prelude() {
  std::string text(skeletons::prelude_host_h);
  text += skeletons::prelude_host_math_h;
  text += skeletons::prelude_host_rare_h;
  text += skeletons::prelude_host_convert_h;
  return text;
}

}  // namespace mcc::backend
