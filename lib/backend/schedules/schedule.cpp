// The table of schedules.
#include <array>

#include "lib/backend/schedules/cuda/cuda_schedules.h"
#include "lib/backend/schedules/host/host_schedules.h"
#include "lib/support/error.h"

namespace mcc::backend {
namespace {

constexpr std::array kSchedules{
    ScheduleInfo{"pointwise", host_pointwise, cuda_pointwise},
    ScheduleInfo{"reduction", host_reduction, cuda_reduction},
    ScheduleInfo{"contraction", host_contraction, cuda_contraction},
    ScheduleInfo{"conv", host_conv, cuda_conv},
    ScheduleInfo{"window", host_window, cuda_window},
    ScheduleInfo{"conv_transpose", host_conv_transpose, cuda_conv_transpose},
    ScheduleInfo{"scan", host_scan, cuda_scan},
    ScheduleInfo{"scatter", host_scatter, cuda_scatter},
    ScheduleInfo{"sort", host_sort, cuda_sort},
};

}  // namespace

const ScheduleInfo& find_schedule(std::string_view name) {
  for (const ScheduleInfo& row : kSchedules) {
    if (row.name == name) return row;
  }
  throw ModelError("no kernel schedule exists for operators of the kind '" + std::string(name) +
                   "'; `mcc ops` lists what can be compiled");
}

}  // namespace mcc::backend
