// The version of mcc: of the compiler, the runtime and the C API alike.
#pragma once

#define MCC_VERSION_TEXT "0.1.0"
