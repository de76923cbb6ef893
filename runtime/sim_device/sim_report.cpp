// See sim_report.h.
#include "runtime/sim_device/sim_report.h"

#include <nlohmann/json.hpp>

#include "runtime/sim/report/gpu.h"

namespace mcc::runtime {

namespace {

using Json = nlohmann::ordered_json;

Json dims_json(const sim::Dim3& dims) { return {dims.x, dims.y, dims.z}; }

Json counters_json(const sim::Counters& c) {
  Json classes = Json::object();
  for (int i = 0; i < static_cast<int>(sim::InstClass::count); ++i) {
    if (c.by_class[i] != 0)
      classes[sim::class_name(static_cast<sim::InstClass>(i))] = c.by_class[i];
  }
  return {{"warp_instructions", c.warp_instructions},
          {"thread_instructions", c.thread_instructions},
          {"by_class", std::move(classes)},
          {"flops",
           {{"fp32", c.flops_fp32},
            {"fp64", c.flops_fp64},
            {"fp16", c.flops_fp16},
            {"matrix", c.flops_matrix}}},
          {"global",
           {{"load_requests", c.global_load_requests},
            {"store_requests", c.global_store_requests},
            {"load_sectors", c.global_load_sectors},
            {"store_sectors", c.global_store_sectors},
            {"load_bytes", c.global_load_bytes},
            {"store_bytes", c.global_store_bytes},
            {"unique_read_bytes", c.unique_read_bytes},
            {"unique_write_bytes", c.unique_write_bytes},
            {"coalescing", c.coalescing()}}},
          {"atomics", {{"requests", c.atomic_requests}, {"sectors", c.atomic_sectors}}},
          {"shared",
           {{"load_requests", c.shared_load_requests},
            {"store_requests", c.shared_store_requests},
            {"passes", c.shared_load_passes + c.shared_store_passes},
            {"bank_conflicts", c.bank_conflicts()}}},
          {"local", {{"requests", c.local_requests}, {"bytes", c.local_bytes}}},
          {"branches", c.branches},
          {"divergent_branches", c.divergent_branches},
          {"barriers", c.barriers}};
}

Json buffers_json(const sim::Counters& counters) {
  Json rows = Json::array();
  for (const sim::BufferTraffic& buffer : counters.buffers) {
    rows.push_back({{"name", buffer.name},
                    {"bytes", buffer.size},
                    {"unique_read_sectors", buffer.unique_read_sectors},
                    {"unique_write_sectors", buffer.unique_write_sectors}});
  }
  return rows;
}

sim::Occupancy occupancy_on(int architecture, const CountedLaunch& launch) {
  return sim::occupancy(architecture, static_cast<int>(launch.block.count()), launch.registers,
                        launch.shared_bytes);
}

Json estimates_json(const CountedLaunch& launch) {
  Json estimates = Json::object();
  for (const sim::Gpu& gpu : sim::gpus()) {
    const sim::Roofline r = sim::roofline(gpu, launch.counters, launch.grid.count(),
                                          occupancy_on(gpu.architecture, launch));
    estimates[std::string(gpu.name)] = {
        {"total_us", r.total_us},   {"bound", r.bound},         {"memory_us", r.memory_us},
        {"l2_us", r.l2_us},         {"issue_us", r.issue_us},   {"fp32_us", r.fp32_us},
        {"tensor_us", r.tensor_us}, {"shared_us", r.shared_us}, {"flops_per_byte", r.intensity}};
  }
  return estimates;
}

Json launch_json(const CountedLaunch& launch) {
  const sim::Occupancy occupancy = occupancy_on(launch.architecture, launch);
  return {{"instruction", launch.instruction},
          {"kernel", launch.kernel->name},
          {"class", launch.kernel->kernel_class},
          {"origin", launch.kernel->origin},
          {"grid", dims_json(launch.grid)},
          {"block", dims_json(launch.block)},
          {"shared_bytes", launch.shared_bytes},
          {"registers", launch.registers},
          {"occupancy",
           {{"blocks_per_sm", occupancy.blocks_per_sm},
            {"warps_per_sm", occupancy.warps_per_sm},
            {"fraction", occupancy.fraction},
            {"limited_by", occupancy.limited_by}}},
          {"counters", counters_json(launch.counters)},
          {"buffers", buffers_json(launch.counters)},
          {"estimates", estimates_json(launch)}};
}

}  // namespace

std::string launches_json(const std::vector<CountedLaunch>& launches) {
  Json rows = Json::array();
  for (const CountedLaunch& launch : launches) rows.push_back(launch_json(launch));
  // Node names come from the model and need not be valid UTF-8.
  return rows.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mcc::runtime
