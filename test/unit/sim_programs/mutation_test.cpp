// Mutants of right programs: each lacks one barrier or wait, or has one address moved by an
// element. All must be found.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "test/unit/sim_programs/program.h"

namespace mcc::sim::test {
namespace {

constexpr int kOrders = 2;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_with(std::vector<std::string> lines, size_t at, const std::string& line) {
  lines[at] = line;
  std::string text;
  for (const std::string& other : lines) text += other + "\n";
  return text;
}

bool waits(const std::string& line) {
  static const std::regex pattern(
      R"(\b(bar\.sync|barrier\.sync|bar\.warp\.sync|cp\.async\.wait_group|cp\.async\.wait_all)\b)");
  return std::regex_search(line, pattern);
}

// All versions of an access to global or shared memory with one of its addresses 4 bytes further.
std::vector<std::string> widened(const std::string& line) {
  static const std::regex access(
      R"(\b(ld|st|atom|red)\.(volatile\.)?(global|shared)|\bcp\.async\.(ca|cg)\.)");
  std::vector<std::string> results;
  if (!std::regex_search(line, access)) return results;
  for (size_t end = line.find(']'); end != std::string::npos; end = line.find(']', end + 1)) {
    results.push_back(line.substr(0, end) + "+4" + line.substr(end));
    const size_t begin = line.rfind('[', end);
    const size_t plus = line.find('+', begin);
    if (plus == std::string::npos || plus > end) continue;
    const long offset = std::stol(line.substr(plus + 1)) + 4;  // PTX takes one offset only
    results.back() = line.substr(0, plus + 1) + std::to_string(offset) + line.substr(end);
  }
  return results;
}

class Mutation : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (!nvrtc_is_installed()) GTEST_SKIP() << "no NVRTC here (see mcc doctor)";
    ptx_ = compile(program_.source);
    lines_ = lines_of(ptx_);
  }
  const Program program_ = programs()[GetParam()];
  std::string ptx_;
  std::vector<std::string> lines_;
};

TEST_P(Mutation, TheProgramIsRight) {
  const Outcome outcome = run(program_, ptx_, kOrders);
  EXPECT_TRUE(outcome.report.clean()) << outcome.report.text();
  EXPECT_EQ(outcome.output, program_.expected);
}

// A finding, not only a wrong result.
TEST_P(Mutation, EveryMissingBarrierOrWaitIsAFinding) {
  int mutants = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (!waits(lines_[i])) continue;
    ++mutants;
    const Outcome outcome = run(program_, text_with(lines_, i, ""), kOrders);
    EXPECT_FALSE(outcome.report.clean()) << "without line " << i + 1 << ": " << lines_[i];
  }
  EXPECT_GT(mutants, 0);
}

// Lines that never run (rests of unrolled loops whose count divides evenly) make no difference.
TEST_P(Mutation, EveryMovedAddressIsFound) {
  std::set<size_t> executed;
  for (const LineCounters& line : run(program_, ptx_, 0).report.lines) {
    executed.insert(static_cast<size_t>(line.ptx_line));
  }
  int mutants = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (executed.count(i + 1) == 0) continue;
    for (const std::string& mutant : widened(lines_[i])) {
      ++mutants;
      const Outcome outcome = run(program_, text_with(lines_, i, mutant), kOrders);
      EXPECT_TRUE(!outcome.report.clean() || outcome.output != program_.expected)
          << "line " << i + 1 << " as " << mutant;
    }
  }
  EXPECT_GT(mutants, 1);
}

std::string program_name(const ::testing::TestParamInfo<size_t>& info) {
  return programs()[info.param].name;
}
INSTANTIATE_TEST_SUITE_P(Programs, Mutation, ::testing::Range<size_t>(0, programs().size()),
                         program_name);

}  // namespace
}  // namespace mcc::sim::test
