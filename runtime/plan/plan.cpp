// Opens, maps and checks plan files; see plan.h.
#include "runtime/plan/plan.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "runtime/plan/manifest_check.h"
#include "runtime/plan/manifest_json.h"
#include "runtime/support/error.h"
#include "runtime/support/hash.h"

namespace mcc::runtime {

namespace {

constexpr uint64_t kMaximumManifest = uint64_t{256} << 20;

std::span<const std::byte> map_file(const std::string& path) {
  const auto fail = [&](const char* what) {
    fail_environment(std::string("cannot ") + what + " the plan file " + path + ": " +
                     std::strerror(errno));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open");
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || S_ISDIR(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) errno = EISDIR;
    const int error = errno;
    ::close(descriptor);
    errno = error;
    fail("read");
  }
  if (info.st_size < static_cast<off_t>(sizeof(PlanHeader))) {
    ::close(descriptor);
    fail_model(path + " is not an mcc plan: it has only " + std::to_string(info.st_size) + " bytes");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  if (address == MAP_FAILED) fail("map");
  return {static_cast<const std::byte*>(address), size};
}

}  // namespace

Plan::Plan(std::string path, std::span<const std::byte> bytes, bool owns_mapping)
    : path_(std::move(path)), bytes_(bytes), owns_mapping_(owns_mapping) {}

Plan::~Plan() {
  if (owns_mapping_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::shared_ptr<const Plan> Plan::open(const std::string& path, const PlanOptions& options) {
  // The constructor is private: make_shared cannot reach it.
  std::shared_ptr<Plan> plan(new Plan(path, map_file(path), true));
  plan->read_sections();
  plan->check_digests(options);
  plan->read_manifest();
  return plan;
}

std::shared_ptr<const Plan> Plan::from_memory(std::span<const std::byte> bytes,
                                              const std::string& name, const PlanOptions& options) {
  std::shared_ptr<Plan> plan(new Plan(name, bytes, false));
  plan->read_sections();
  plan->check_digests(options);
  plan->read_manifest();
  return plan;
}

void Plan::fail(const std::string& problem) const { fail_model(path_ + " " + problem); }

void Plan::read_sections() {
  PlanHeader header;
  if (bytes_.size() < sizeof header) fail("is not an mcc plan: it is too short");
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (header.magic != kPlanMagic) fail("is not an mcc plan");
  if (header.version > kPlanVersion) {
    fail("has plan format " + std::to_string(header.version) + ", newer than this runtime's " +
         std::to_string(kPlanVersion) + "; use a runtime of the mcc that wrote it");
  }
  if (header.version != kPlanVersion) fail("has the unknown plan format " + std::to_string(header.version));
  if (header.header_digest != xxh64(&header, offsetof(PlanHeader, header_digest))) {
    fail("is damaged: its header's checksum does not match");
  }
  if (header.file_size > bytes_.size()) {
    fail("is truncated: " + std::to_string(bytes_.size()) + " of " +
         std::to_string(header.file_size) + " bytes are there");
  }
  if (header.file_size < bytes_.size()) fail("is damaged: it has bytes after its end");
  const uint64_t table_bytes = uint64_t{header.section_count} * sizeof(SectionEntry);
  if (header.section_count == 0 || header.section_count > kMaximumSections ||
      header.table_offset < sizeof header || header.table_offset > header.file_size ||
      table_bytes != header.file_size - header.table_offset) {
    fail("is damaged: its section table is out of bounds");
  }
  sections_.resize(header.section_count);
  std::memcpy(sections_.data(), bytes_.data() + header.table_offset, table_bytes);
  if (header.table_digest != xxh64(sections_.data(), table_bytes)) {
    fail("is damaged: its section table's checksum does not match");
  }
  // Sections follow each other in file order with zero padding between, and nothing else.
  uint64_t end = sizeof header;
  for (size_t i = 0; i <= sections_.size(); ++i) {
    const uint64_t next = i < sections_.size() ? sections_[i].offset : header.table_offset;
    if (next < end || next > header.table_offset || next - end >= kWeightsAlignment ||
        std::any_of(bytes_.begin() + static_cast<std::ptrdiff_t>(end),
                    bytes_.begin() + static_cast<std::ptrdiff_t>(next),
                    [](std::byte b) { return b != std::byte{0}; })) {
      fail("is damaged: section " + std::to_string(i + 1) + " is misplaced");
    }
    if (i == sections_.size()) break;
    const SectionEntry& section = sections_[i];
    const bool aligned = section.alignment >= kSectionAlignment &&
                         section.alignment <= kWeightsAlignment &&
                         (section.alignment & (section.alignment - 1)) == 0 &&
                         section.offset % section.alignment == 0;
    if (section.id != i + 1 || !aligned || section.size > header.table_offset - section.offset) {
      fail("is damaged: section " + std::to_string(i + 1) + " is out of bounds");
    }
    end = section.offset + section.size;
  }
}

void Plan::check_digests(const PlanOptions& options) const {
  for (const SectionEntry& section : sections_) {
    const bool weights = section.kind == static_cast<uint32_t>(SectionKind::weights);
    if (weights && !options.verify_weights) continue;
    const std::span<const std::byte> data = contents(section);
    // Small sections are not worth a thread.
    const int threads = data.size() > (size_t{32} << 20)
                            ? static_cast<int>(std::min(8u, std::thread::hardware_concurrency()))
                            : 1;
    if (chunked_digest(data.data(), data.size(), threads) != section.digest) {
      fail("is damaged: the checksum of section " + std::to_string(section.id) + " does not match");
    }
  }
}

const SectionEntry* Plan::find(SectionKind kind) const {
  const SectionEntry* found = nullptr;
  for (const SectionEntry& section : sections_) {
    if (section.kind != static_cast<uint32_t>(kind)) continue;
    if (found != nullptr) fail("is damaged: a section that must be unique occurs twice");
    found = &section;
  }
  return found;
}

void Plan::read_manifest() {
  const SectionEntry* manifest = find(SectionKind::manifest);
  if (manifest == nullptr || manifest->size > kMaximumManifest) fail("has no usable manifest");
  if (const SectionEntry* weights = find(SectionKind::weights)) {
    if (weights->alignment != kWeightsAlignment) fail("is damaged: its weights are not page-aligned");
    weights_ = contents(*weights);
  }
  try {
    manifest_ = parse_manifest(manifest_text());
    check_manifest(manifest_, weights_.size());
  } catch (const Error& error) {
    fail(std::string("is not a sound plan: ") + error.what());
  }
  for (const TargetInfo& target : manifest_.targets) {
    for (uint32_t id : target.sections) {
      if (id == 0 || id > sections_.size() ||
          sections_[id - 1].kind != static_cast<uint32_t>(SectionKind::image)) {
        fail("is not a sound plan: target " + target.name + " lacks a code section");
      }
    }
  }
}

std::span<const std::byte> Plan::contents(const SectionEntry& section) const {
  return bytes_.subspan(section.offset, section.size);
}

std::span<const std::byte> Plan::image(const TargetInfo& target, size_t number) const {
  return contents(sections_[target.sections[number] - 1]);
}

std::string_view Plan::manifest_text() const {
  const std::span<const std::byte> data = contents(*find(SectionKind::manifest));
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace mcc::runtime
