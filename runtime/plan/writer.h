// Writes a plan file: sections are streamed, then the table and the header follow, then the file
// appears under its name at once.
// Invariant: until finish() succeeds, nothing exists under `path` that was not there before, and
// a failed or abandoned write leaves no temporary file behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/format.h"
#include "runtime/support/hash.h"

namespace mcc::runtime {

class PlanWriter {
 public:
  // Creates the temporary file next to `path`. Error(environment) when that is impossible.
  explicit PlanWriter(std::string path);
  ~PlanWriter();
  PlanWriter(const PlanWriter&) = delete;
  PlanWriter& operator=(const PlanWriter&) = delete;

  // Sections get ids 1, 2, 3... in the order of begin_section. All data of one section goes
  // through append before the next one begins. Errors as above (disk full, ...).
  uint32_t begin_section(SectionKind kind, uint64_t alignment = kSectionAlignment);
  void append(const void* data, size_t size);
  // Zero bytes until the current section's size is a multiple of `alignment`; returns the size.
  uint64_t pad_section(uint64_t alignment);
  // begin_section and append at once.
  uint32_t add_section(SectionKind kind, std::string_view contents,
                       uint64_t alignment = kSectionAlignment);
  // Completes the file, flushes it to disk and renames it to `path`.
  void finish();

 private:
  void write_all(const void* data, size_t size);
  void pad_file(uint64_t alignment);
  void end_section();
  [[noreturn]] void fail(const char* what, int error);

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  uint64_t position_ = 0;
  std::vector<SectionEntry> sections_;
  ChunkedDigest digest_;
  bool open_section_ = false;
};

}  // namespace mcc::runtime
