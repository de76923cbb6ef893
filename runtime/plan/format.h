// The fixed binary layout of a plan file: a header, sections, and a section table at the end.
// docs/plan-format.md describes it for people; everything is little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mcc::runtime {

constexpr std::array<char, 8> kPlanMagic = {'M', 'C', 'C', 'P', 'L', 'A', 'N', '\0'};
// Raised when an older runtime cannot read what a newer compiler writes.
constexpr uint32_t kPlanVersion = 1;
constexpr uint32_t kMaximumSections = 4096;

enum class SectionKind : uint32_t {
  manifest = 1,  // JSON text; exactly one
  image = 2,     // code for one target: a cubin, PTX text, or a host shared object
  weights = 3,   // packed constants, page-aligned so that they can be mapped; at most one
  sources = 4,   // generated source text (mcc compile --keep-sources), for people only
};

struct PlanHeader {
  std::array<char, 8> magic = kPlanMagic;
  uint32_t version = kPlanVersion;
  uint32_t section_count = 0;
  uint64_t file_size = 0;     // a shorter file is truncated
  uint64_t table_offset = 0;  // of section_count SectionEntry records
  uint64_t table_digest = 0;  // xxh64 of the table
  uint64_t reserved[2] = {0, 0};
  uint64_t header_digest = 0;  // xxh64 of the bytes before this field
};
static_assert(sizeof(PlanHeader) == 64);

struct SectionEntry {
  uint32_t kind = 0;
  uint32_t id = 0;         // 1, 2, 3... in file order; the manifest refers to sections by id
  uint64_t offset = 0;     // a multiple of alignment
  uint64_t size = 0;
  uint64_t alignment = 64; // a power of two, 64..4096
  uint64_t digest = 0;     // chunked_digest of the contents
};
static_assert(sizeof(SectionEntry) == 40);

constexpr uint64_t kSectionAlignment = 64;
constexpr uint64_t kWeightsAlignment = 4096;
// Every buffer that a kernel sees starts at a multiple of this, on every device.
constexpr int64_t kBufferAlignment = 64;

}  // namespace mcc::runtime
