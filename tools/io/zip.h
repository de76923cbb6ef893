// As much of the ZIP format as .npz files need: stored and deflated entries, ZIP64 sizes.
// Source: PKWARE APPNOTE 6.3.9, sections 4.3 (records) and 4.5.3 (ZIP64 extra field).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mcc::tools {

struct ZipEntry {
  std::string name;
  std::string data;  // decompressed, checksum verified
};

// All entries of an archive. UsageError naming `source` when it is no archive, damaged, encrypted
// or compressed by another method.
std::vector<ZipEntry> read_zip(std::string_view bytes, const std::string& source);

// Builds an archive of stored entries; deterministic (a fixed time stamp).
class ZipWriter {
 public:
  void add(const std::string& name, std::string_view data);
  std::string finish();

 private:
  struct Record {
    std::string name;
    uint32_t crc = 0;
    uint64_t size = 0;
    uint64_t offset = 0;
  };
  std::string bytes_;
  std::vector<Record> records_;
};

}  // namespace mcc::tools
