// Compiles the host prelude plus test functions with the system compilers, as kernels are compiled.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <string>

#include "lib/backend/prelude.h"

namespace mcc::backend {

struct Compiler {
  const char* command;
  const char* isa;
};
inline void PrintTo(const Compiler& compiler, std::ostream* out) {
  *out << compiler.command << " " << compiler.isa;
}
inline std::string compiler_name(const testing::TestParamInfo<Compiler>& test) {
  std::string name = std::string(test.param.command) + "_" + test.param.isa;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
// Every instruction set with g++; clang++ where kernels are likely to be compiled with it.
#define MCC_HOST_COMPILERS                                                 \
  testing::Values(Compiler{"g++", "x86-64"}, Compiler{"g++", "x86-64-v3"}, \
                  Compiler{"g++", "x86-64-v4"}, Compiler{"clang++", "x86-64-v4"})

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// A loaded library of the prelude and test_source().
class HostLibrary : public testing::TestWithParam<Compiler> {
 protected:
  virtual std::string test_source() const = 0;

  void SetUp() override {
    const auto [command, isa] = GetParam();
    if (std::strcmp(isa, "x86-64-v3") == 0 && !__builtin_cpu_supports("fma")) {
      GTEST_SKIP() << "this machine has no AVX2";
    }
    if (std::strcmp(isa, "x86-64-v4") == 0 && !__builtin_cpu_supports("avx512bw")) {
      GTEST_SKIP() << "this machine has no AVX-512";
    }
    if (std::system(("command -v " + std::string(command) + " > /dev/null").c_str()) != 0) {
      GTEST_SKIP() << command << " is not installed";
    }
    library_ = load(command, isa);
    ASSERT_NE(library_, nullptr);
  }

  template <typename Function>
  Function* function(const std::string& name) const {
    void* symbol = dlsym(library_, name.c_str());
    EXPECT_NE(symbol, nullptr) << name;
    return reinterpret_cast<Function*>(symbol);
  }

 private:
  // Compiles once per test class, compiler and instruction set.
  void* load(const std::string& command, const std::string& isa) const {
    static std::map<std::string, void*> libraries;
    const std::string suite =
        testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
    void*& library = libraries[suite + command + isa];
    if (library != nullptr) return library;
    const auto directory =
        std::filesystem::temp_directory_path() /
        ("mcc_prelude_" + std::to_string(getpid()) + "_" + std::to_string(libraries.size()));
    std::filesystem::create_directories(directory);
    const std::string source = directory / "prelude.cpp", image = directory / "prelude.so";
    std::ofstream(source) << host_prelude() << test_source();
    const std::string line =
        command + " -std=c++20 -O2 -march=" + isa +
        " -ffreestanding -nostdlib -shared -fPIC -fno-math-errno -fno-trapping-math -fwrapv "
        "-ffp-contract=fast -fno-strict-aliasing -Wall -Wextra -Werror -Wno-psabi -o " +
        image + " " + source;
    if (std::system(line.c_str()) == 0) library = dlopen(image.c_str(), RTLD_NOW);
    EXPECT_NE(library, nullptr) << "failed: " << line;
    std::filesystem::remove_all(directory);
    return library;
  }

  void* library_ = nullptr;
};

}  // namespace mcc::backend
