// The content-addressed cache of compiled code: one file per key in a directory.
// Invariant: an entry is complete or absent (written to a temporary name and renamed), so that
// several compiles can share the directory. A damaged or unwritable cache never fails a compile.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcc::backend {

class KernelCache {
 public:
  // An empty directory means the user's cache: $MCC_CACHE_DIR, $XDG_CACHE_HOME/mcc/kernels or
  // ~/.cache/mcc/kernels.
  KernelCache(std::filesystem::path directory, bool enabled);

  // A key over everything that determines the contents, as a file name.
  static std::string key(std::string_view kind, const std::vector<std::string_view>& parts);

  // The entry's bytes, or nullopt when absent or damaged. Thread-safe.
  std::optional<std::string> load(const std::string& key) const;
  void store(const std::string& key, std::string_view contents) const;

 private:
  std::filesystem::path directory_;
  bool enabled_;
};

}  // namespace mcc::backend
