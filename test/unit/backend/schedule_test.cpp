// Schedules of every target on shared graphs, against the reference evaluator.
#include <gtest/gtest.h>

#include "cuda_harness.h"
#include "kernel_harness.h"
#include "schedule_graphs.h"

namespace mcc {
namespace {

using test::ScheduleCase;

class Schedule : public testing::TestWithParam<ScheduleCase> {};

TEST_P(Schedule, OnHost) { test::check_on_host(GetParam().graph, GetParam().dims, GetParam().tolerance); }
TEST_P(Schedule, OnCuda) { test::check_on_cuda(GetParam().graph, GetParam().dims, GetParam().tolerance); }

INSTANTIATE_TEST_SUITE_P(Graphs, Schedule, testing::ValuesIn(test::schedule_cases()),
                         [](const testing::TestParamInfo<ScheduleCase>& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace mcc
