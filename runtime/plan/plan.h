// An opened plan: the mapped file, its sections and its checked manifest.
// Invariant: a Plan that exists has passed every check; its spans stay valid as long as it lives.
// Immutable and therefore safe to share between threads.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/format.h"
#include "runtime/plan/manifest.h"

namespace mcc::runtime {

struct PlanOptions {
  bool verify_weights = true;  // hash the weights section too
};

class Plan {
 public:
  // Error(environment) when the file cannot be read; Error(model) when it is not a sound plan.
  static std::shared_ptr<const Plan> open(const std::string& path, const PlanOptions& options = {});
  // The same over memory that the caller keeps alive; `name` is for messages.
  static std::shared_ptr<const Plan> from_memory(std::span<const std::byte> bytes,
                                                 const std::string& name,
                                                 const PlanOptions& options = {});
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::string& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }
  size_t file_bytes() const { return bytes_.size(); }
  const std::vector<SectionEntry>& sections() const { return sections_; }
  std::span<const std::byte> contents(const SectionEntry& section) const;
  // Page-aligned in the mapping; empty when the model has no weights.
  std::span<const std::byte> weights() const { return weights_; }
  // The code of one of the target's sections (KernelResources::image).
  std::span<const std::byte> image(const TargetInfo& target, size_t number) const;
  std::string_view manifest_text() const;

 private:
  Plan(std::string path, std::span<const std::byte> bytes, bool owns_mapping);
  void read_sections();
  void check_digests(const PlanOptions& options) const;
  void read_manifest();
  const SectionEntry* find(SectionKind kind) const;
  [[noreturn]] void fail(const std::string& problem) const;

  std::string path_;
  std::span<const std::byte> bytes_;
  bool owns_mapping_ = false;
  std::vector<SectionEntry> sections_;
  std::span<const std::byte> weights_;
  Manifest manifest_;
};

}  // namespace mcc::runtime
