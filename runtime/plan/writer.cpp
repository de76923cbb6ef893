// Streaming writer of plan files; see writer.h.
#include "runtime/plan/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/support/error.h"

namespace mcc::runtime {

PlanWriter::PlanWriter(std::string path) : path_(std::move(path)) {
  temporary_ = path_ + ".XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail("create", error);
  }
  const PlanHeader placeholder{};
  write_all(&placeholder, sizeof placeholder);
}

PlanWriter::~PlanWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void PlanWriter::fail(const char* what, int error) {
  fail_environment("cannot " + std::string(what) + " the plan file " + path_ + ": " +
                   std::strerror(error));
}

void PlanWriter::write_all(const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, bytes, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("write", errno);
    }
    bytes += written;
    size -= static_cast<size_t>(written);
    position_ += static_cast<uint64_t>(written);
  }
}

void PlanWriter::pad_file(uint64_t alignment) {
  static constexpr std::array<char, 4096> kZeros{};
  while (position_ % alignment != 0) {
    write_all(kZeros.data(), std::min<uint64_t>(alignment - position_ % alignment, kZeros.size()));
  }
}

uint32_t PlanWriter::begin_section(SectionKind kind, uint64_t alignment) {
  end_section();
  pad_file(alignment);
  SectionEntry entry;
  entry.kind = static_cast<uint32_t>(kind);
  entry.id = static_cast<uint32_t>(sections_.size()) + 1;
  entry.offset = position_;
  entry.alignment = alignment;
  sections_.push_back(entry);
  digest_ = {};
  open_section_ = true;
  return entry.id;
}

void PlanWriter::append(const void* data, size_t size) {
  if (!open_section_) fail_internal("plan data was appended outside a section");
  write_all(data, size);
  digest_.append(data, size);
}

uint64_t PlanWriter::pad_section(uint64_t alignment) {
  static constexpr std::array<char, 4096> kZeros{};
  uint64_t size = position_ - sections_.back().offset;
  while (size % alignment != 0) {
    const uint64_t count = std::min<uint64_t>(alignment - size % alignment, kZeros.size());
    append(kZeros.data(), count);
    size += count;
  }
  return size;
}

void PlanWriter::end_section() {
  if (!open_section_) return;
  sections_.back().size = position_ - sections_.back().offset;
  sections_.back().digest = digest_.finish();
  open_section_ = false;
}

uint32_t PlanWriter::add_section(SectionKind kind, std::string_view contents, uint64_t alignment) {
  const uint32_t id = begin_section(kind, alignment);
  append(contents.data(), contents.size());
  end_section();
  return id;
}

void PlanWriter::finish() {
  end_section();
  pad_file(kSectionAlignment);
  PlanHeader header;
  header.section_count = static_cast<uint32_t>(sections_.size());
  header.table_offset = position_;
  const size_t table_bytes = sections_.size() * sizeof(SectionEntry);
  header.table_digest = xxh64(sections_.data(), table_bytes);
  write_all(sections_.data(), table_bytes);
  header.file_size = position_;
  header.header_digest = xxh64(&header, offsetof(PlanHeader, header_digest));
  ssize_t written = 0;
  do {
    written = ::pwrite(descriptor_, &header, sizeof header, 0);
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(sizeof header)) fail("write", written < 0 ? errno : ENOSPC);

  // mkostemp made the file private; a plan gets the permissions that a plain open() would give.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(descriptor_, 0666 & ~mask) != 0) fail("set permissions of", errno);
  if (::fsync(descriptor_) != 0) fail("write", errno);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail("write", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename", errno);
  temporary_.clear();
}

}  // namespace mcc::runtime
