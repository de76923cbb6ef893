// Builds a runnable plan for the sample manifest: its host code is compiled by the system compiler.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "runtime/plan/manifest_json.h"
#include "runtime/plan/writer.h"
#include "test/unit/runtime/sample_manifest.h"
#include "test/unit/runtime/test_files.h"

namespace mcc::runtime::test {

// k0: t = x * w (w has 16 elements), k1: y = max(t, 0) + x.
inline constexpr const char* kSampleSource = R"(
extern "C" void k0(void* const* b, const long* d, long begin, long end, void*) {
  const float* x = (const float*)b[0]; const float* w = (const float*)b[1]; float* t = (float*)b[2];
  (void)d;
  for (long i = begin; i < end; ++i) t[i] = x[i] * w[i % 16];
}
extern "C" void k1(void* const* b, const long*, long begin, long end, void*) {
  const float* t = (const float*)b[0]; const float* x = (const float*)b[1]; float* y = (float*)b[2];
  for (long i = begin; i < end; ++i) y[i] = (t[i] > 0 ? t[i] : 0) + x[i];
}
)";

// A shared object from C++ source.
inline std::string compile_object(const std::string& source, const TemporaryDirectory& directory) {
  write_file(directory.file("kernels.cpp"), source);
  const std::string command = "c++ -O1 -shared -fPIC -o " + directory.file("kernels.so") + " " +
                              directory.file("kernels.cpp");
  EXPECT_EQ(std::system(command.c_str()), 0);
  return read_file(directory.file("kernels.so"));
}

inline TargetInfo sample_target(const Manifest& manifest, TargetKind kind, std::string name,
                                uint32_t section) {
  TargetInfo target;
  target.kind = kind;
  target.name = name;
  if (kind == TargetKind::host) target.isa = name;
  target.sections = {section};
  for (const KernelInfo& kernel : manifest.kernels) {
    KernelResources resources;
    resources.name = kernel.name;
    target.kernels.push_back(resources);
  }
  return target;
}

// Weight w[i] = i - 8. `targets` refer to sections 2 and up, given as `images`.
inline void write_plan(const std::string& path, Manifest manifest,
                       const std::vector<TargetInfo>& targets,
                       const std::vector<std::string>& images) {
  manifest.targets = targets;
  PlanWriter writer(path);
  writer.add_section(SectionKind::manifest, write_manifest(manifest));
  for (const std::string& image : images) writer.add_section(SectionKind::image, image);
  writer.begin_section(SectionKind::weights, kWeightsAlignment);
  for (int i = 0; i < 16; ++i) {
    const float value = static_cast<float>(i - 8);
    writer.append(&value, sizeof value);
  }
  writer.finish();
}

// The sample with host code for every x86-64 level that this processor may be.
inline std::string write_host_plan(const TemporaryDirectory& directory,
                                   const std::string& name = "plan.bin") {
  const Manifest manifest = sample_manifest();
  const std::string object = compile_object(kSampleSource, directory);
  write_plan(directory.file(name), manifest,
             {sample_target(manifest, TargetKind::host, "x86-64-v2", 2)}, {object});
  return directory.file(name);
}

inline float sample_result(float x, int64_t index) {
  const float t = x * static_cast<float>(index % 16 - 8);
  return (t > 0 ? t : 0) + x;
}

}  // namespace mcc::runtime::test
