// The kernel cache's files: an 8-byte digest, then the contents.
#include "lib/backend/cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/support/hash.h"

namespace mcc::backend {
namespace {

std::filesystem::path user_directory() {
  if (const char* path = std::getenv("MCC_CACHE_DIR"); path != nullptr && *path != '\0') return path;
  if (const char* path = std::getenv("XDG_CACHE_HOME"); path != nullptr && *path != '\0') {
    return std::filesystem::path(path) / "mcc" / "kernels";
  }
  if (const char* path = std::getenv("HOME"); path != nullptr && *path != '\0') {
    return std::filesystem::path(path) / ".cache" / "mcc" / "kernels";
  }
  return {};
}

}  // namespace

KernelCache::KernelCache(std::filesystem::path directory, bool enabled)
    : directory_(directory.empty() ? user_directory() : std::move(directory)), enabled_(enabled) {
  if (directory_.empty()) enabled_ = false;
  if (!enabled_) return;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) enabled_ = false;
}

std::string KernelCache::key(std::string_view kind, const std::vector<std::string_view>& parts) {
  std::string all;
  for (std::string_view part : parts) {
    all += std::to_string(part.size()) + ":";
    all += part;
  }
  // Two independently seeded digests: 128 bits make accidental collisions negligible.
  char digest[40];
  std::snprintf(digest, sizeof digest, "%016llx%016llx",
                static_cast<unsigned long long>(runtime::xxh64(all.data(), all.size(), 0)),
                static_cast<unsigned long long>(runtime::xxh64(all.data(), all.size(), 0x9e3779b97f4a7c15u)));
  return std::string(kind) + "-" + digest;
}

std::optional<std::string> KernelCache::load(const std::string& key) const {
  if (!enabled_) return std::nullopt;
  std::ifstream file(directory_ / key, std::ios::binary);
  if (!file) return std::nullopt;
  std::string contents{std::istreambuf_iterator<char>(file), {}};
  uint64_t digest = 0;
  if (contents.size() < sizeof digest) return std::nullopt;
  std::memcpy(&digest, contents.data(), sizeof digest);
  contents.erase(0, sizeof digest);
  if (runtime::xxh64(contents.data(), contents.size()) != digest) return std::nullopt;
  return contents;
}

void KernelCache::store(const std::string& key, std::string_view contents) const {
  if (!enabled_) return;
  static std::atomic<int> counter{0};
  const std::filesystem::path temporary =
      directory_ / (key + ".tmp" + std::to_string(getpid()) + "." + std::to_string(counter++));
  const uint64_t digest = runtime::xxh64(contents.data(), contents.size());
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&digest), sizeof digest);
    file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    if (!file.flush()) {
      file.close();
      std::filesystem::remove(temporary, error);
      return;
    }
  }
  std::filesystem::rename(temporary, directory_ / key, error);
  if (error) std::filesystem::remove(temporary, error);
}

}  // namespace mcc::backend
