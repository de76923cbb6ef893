// The shared runtime library: what it links, how large it is, what it exports.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

#include "test/unit/runtime/test_files.h"

namespace mcc::runtime {
namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
  ::pclose(pipe);
  return text;
}

const std::string kLibrary = MCC_RUNTIME_LIBRARY;

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

TEST(RuntimeLibrary, NeedsOnlyTheSystemLibraries) {
  if (sanitized()) GTEST_SKIP() << "sanitizers add libraries";
  const std::set<std::string> allowed{"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1",
                                      "ld-linux-x86-64.so.2"};
  const std::string text = output_of("readelf -d " + kLibrary);
  ASSERT_NE(text.find("(NEEDED)"), std::string::npos);
  size_t at = 0;
  while ((at = text.find("(NEEDED)", at)) != std::string::npos) {
    const size_t open = text.find('[', at);
    const size_t close = text.find(']', open);
    const std::string name = text.substr(open + 1, close - open - 1);
    EXPECT_TRUE(allowed.contains(name)) << name;
    at = close;
  }
}

TEST(RuntimeLibrary, StaysSmall) {
  if (sanitized()) GTEST_SKIP() << "sanitizers add code";
  const test::TemporaryDirectory directory;
  const std::string stripped = directory.file("stripped.so");
  ASSERT_EQ(std::system(("strip -o " + stripped + " " + kLibrary).c_str()), 0);
  EXPECT_LT(std::filesystem::file_size(stripped), 1500000u);
  std::printf("stripped size: %ju bytes\n",
              static_cast<uintmax_t>(std::filesystem::file_size(stripped)));
}

// The header is C99; a C program links with the library alone.
TEST(RuntimeLibrary, ServesCPrograms) {
  if (sanitized()) GTEST_SKIP() << "the library needs the sanitizer's runtime";
  const test::TemporaryDirectory directory;
  test::write_file(directory.file("main.c"),
                   "#include \"runtime/include/mcc.h\"\n"
                   "#include <stdio.h>\n"
                   "int main(void) {\n"
                   "  mcc_plan* plan = NULL;\n"
                   "  mcc_status status = mcc_plan_open(\"absent\", NULL, &plan);\n"
                   "  printf(\"%d %s\\n\", (int)status, mcc_plan_error(plan));\n"
                   "  mcc_plan_close(plan);\n"
                   "  return 0;\n"
                   "}\n");
  const std::string program = directory.file("program");
  const std::string command = "cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I" +
                              std::string(MCC_SOURCE_DIR) + " " + directory.file("main.c") + " " +
                              kLibrary + " -o " + program;
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string folder = std::filesystem::path(kLibrary).parent_path().string();
  EXPECT_EQ(output_of("LD_LIBRARY_PATH=" + folder + " " + program),
            "3 cannot open the plan file absent: No such file or directory\n");
}

TEST(RuntimeLibrary, ExportsTheCApiAlone) {
  const std::string text = output_of("nm -D --defined-only " + kLibrary);
  EXPECT_NE(text.find(" mcc_session_run"), std::string::npos);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    // Weak symbols are instances of the standard library's templates.
    if (line.find(" T ") == std::string::npos) continue;
    EXPECT_NE(line.find(" mcc_"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace mcc::runtime
