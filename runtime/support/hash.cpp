// XXH64 and the chunked digest; see hash.h.
#include "runtime/support/hash.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

namespace mcc::runtime {

static_assert(std::endian::native == std::endian::little, "plan files are little-endian");

namespace {

// Constants and steps follow the numbered sections of the xxHash specification.
constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;

uint64_t read64(const unsigned char* p) {
  uint64_t value = 0;
  std::memcpy(&value, p, sizeof value);
  return value;
}

uint64_t read32(const unsigned char* p) {
  uint32_t value = 0;
  std::memcpy(&value, p, sizeof value);
  return value;
}

uint64_t round(uint64_t accumulator, uint64_t lane) {
  return std::rotl(accumulator + lane * kPrime2, 31) * kPrime1;
}

uint64_t merge(uint64_t accumulator, uint64_t lane_accumulator) {
  return (accumulator ^ round(0, lane_accumulator)) * kPrime1 + kPrime4;
}

}  // namespace

uint64_t xxh64(const void* data, size_t size, uint64_t seed) {
  const auto* p = static_cast<const unsigned char*>(data);
  const unsigned char* end = p + size;
  uint64_t hash = seed + kPrime5;
  if (size >= 32) {
    uint64_t lane1 = seed + kPrime1 + kPrime2;
    uint64_t lane2 = seed + kPrime2;
    uint64_t lane3 = seed;
    uint64_t lane4 = seed - kPrime1;
    for (; end - p >= 32; p += 32) {
      lane1 = round(lane1, read64(p));
      lane2 = round(lane2, read64(p + 8));
      lane3 = round(lane3, read64(p + 16));
      lane4 = round(lane4, read64(p + 24));
    }
    hash = std::rotl(lane1, 1) + std::rotl(lane2, 7) + std::rotl(lane3, 12) + std::rotl(lane4, 18);
    hash = merge(merge(merge(merge(hash, lane1), lane2), lane3), lane4);
  }
  hash += size;
  for (; end - p >= 8; p += 8) {
    hash = std::rotl(hash ^ round(0, read64(p)), 27) * kPrime1 + kPrime4;
  }
  if (end - p >= 4) {
    hash = std::rotl(hash ^ (read32(p) * kPrime1), 23) * kPrime2 + kPrime3;
    p += 4;
  }
  for (; p < end; ++p) hash = std::rotl(hash ^ (*p * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

void ChunkedDigest::append(const void* data, size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  while (size > 0) {
    if (pending_.empty() && size >= kDigestChunk) {
      chunks_.push_back(xxh64(p, kDigestChunk));
      p += kDigestChunk;
      size -= kDigestChunk;
      continue;
    }
    const size_t taken = std::min(size, kDigestChunk - pending_.size());
    pending_.insert(pending_.end(), p, p + taken);
    p += taken;
    size -= taken;
    if (pending_.size() == kDigestChunk) {
      chunks_.push_back(xxh64(pending_.data(), pending_.size()));
      pending_.clear();
    }
  }
}

uint64_t ChunkedDigest::finish() {
  if (!pending_.empty()) chunks_.push_back(xxh64(pending_.data(), pending_.size()));
  pending_.clear();
  return xxh64(chunks_.data(), chunks_.size() * sizeof(uint64_t));
}

uint64_t chunked_digest(const void* data, size_t size, int threads) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const size_t count = (size + kDigestChunk - 1) / kDigestChunk;
  std::vector<uint64_t> chunks(count);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      const size_t begin = i * kDigestChunk;
      chunks[i] = xxh64(bytes + begin, std::min(kDigestChunk, size - begin));
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && static_cast<size_t>(i) < count; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return xxh64(chunks.data(), chunks.size() * sizeof(uint64_t));
}

}  // namespace mcc::runtime
