// XXH64 (Yann Collet, "xxHash fast digest algorithm", specification at
// github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) in one-shot form, and the chunked digest
// that the plan file uses. It guards against damage, not against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mcc::runtime {

uint64_t xxh64(const void* data, size_t size, uint64_t seed = 0);

// The digest of a section: XXH64 over the little-endian XXH64 values of its consecutive 1 MiB
// chunks. Chunks make streaming writes simple and let several threads verify one large section.
constexpr size_t kDigestChunk = size_t{1} << 20;

class ChunkedDigest {
 public:
  void append(const void* data, size_t size);
  // The digest of everything appended so far; call once, at the end.
  uint64_t finish();

 private:
  std::vector<unsigned char> pending_;
  std::vector<uint64_t> chunks_;
};

// The same digest of memory at once; `threads` > 1 hashes chunks in parallel.
uint64_t chunked_digest(const void* data, size_t size, int threads = 1);

}  // namespace mcc::runtime
