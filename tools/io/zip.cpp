// See zip.h.
#include "tools/io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "lib/support/error.h"

namespace mcc::tools {

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kEnd64Locator = 0x07064b50;
constexpr uint32_t kTooLarge = 0xffffffff;  // "see the ZIP64 field"
constexpr uint16_t kDate = (0 << 9) | (1 << 5) | 1;  // 1980-01-01, the first date there is

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  [[noreturn]] void fail(const std::string& problem) const {
    throw UsageError(source_ + " " + problem);
  }

  std::vector<ZipEntry> entries() const {
    uint64_t count = 0;
    uint64_t at = 0;
    find_directory(count, at);
    std::vector<ZipEntry> result;
    for (uint64_t i = 0; i < count; ++i) result.push_back(entry(at));
    return result;
  }

 private:
  uint64_t number(uint64_t at, int size) const {
    if (at > bytes_.size() || bytes_.size() - at < static_cast<uint64_t>(size)) {
      fail("is a damaged archive");
    }
    uint64_t value = 0;
    for (int i = size; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(bytes_[at + static_cast<uint64_t>(i)]);
    }
    return value;
  }
  std::string_view piece(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) fail("is a damaged archive");
    return bytes_.substr(at, size);
  }

  // The end record lies within the last 64 KiB (a comment may follow it).
  void find_directory(uint64_t& count, uint64_t& offset) const {
    constexpr uint64_t kEndSize = 22;
    if (bytes_.size() < kEndSize) fail("is no archive");
    uint64_t at = bytes_.size() - kEndSize;
    const uint64_t lowest = at > 65535 ? at - 65535 : 0;
    while (number(at, 4) != kEnd) {
      if (at == lowest) fail("is no archive, or a truncated one");
      --at;
    }
    count = number(at + 10, 2);
    offset = number(at + 16, 4);
    if (at >= 20 && number(at - 20, 4) == kEnd64Locator) {
      const uint64_t end64 = number(at - 12, 8);
      if (number(end64, 4) != kEnd64) fail("is a damaged archive");
      count = number(end64 + 32, 8);
      offset = number(end64 + 48, 8);
    }
  }

  ZipEntry entry(uint64_t& at) const {
    if (number(at, 4) != kCentralHeader) fail("is a damaged archive");
    const uint64_t flags = number(at + 8, 2);
    const uint64_t method = number(at + 10, 2);
    const uint64_t crc = number(at + 16, 4);
    uint64_t compressed = number(at + 20, 4);
    uint64_t size = number(at + 24, 4);
    const uint64_t name_length = number(at + 28, 2);
    const uint64_t extra_length = number(at + 30, 2);
    uint64_t offset = number(at + 42, 4);
    const std::string name(piece(at + 46, name_length));
    read_zip64(at + 46 + name_length, extra_length, size, compressed, offset);
    at += 46 + name_length + extra_length + number(at + 32, 2);
    if ((flags & 1) != 0) fail("is encrypted");
    if (number(offset, 4) != kLocalHeader) fail("is a damaged archive");
    const uint64_t start = offset + 30 + number(offset + 26, 2) + number(offset + 28, 2);
    const std::string_view stored = piece(start, compressed);
    ZipEntry result{name, {}};
    if (method == 0 && size == compressed) {
      result.data = stored;
    } else if (method == 8) {
      result.data = inflate_data(stored, size);
    } else {
      fail("uses compression method " + std::to_string(method) + ", which is not supported");
    }
    if (checksum(result.data) != crc) fail("is damaged: the checksum of " + name + " does not match");
    return result;
  }

  // The ZIP64 extra field replaces those of the three numbers that did not fit, in this order.
  void read_zip64(uint64_t at, uint64_t length, uint64_t& size, uint64_t& compressed,
                  uint64_t& offset) const {
    const uint64_t end = at + length;
    while (at + 4 <= end) {
      const uint64_t id = number(at, 2);
      const uint64_t next = at + 4 + number(at + 2, 2);
      if (id == 1) {
        uint64_t field = at + 4;
        for (uint64_t* value : {&size, &compressed, &offset}) {
          if (*value != kTooLarge) continue;
          *value = number(field, 8);
          field += 8;
        }
      }
      at = next;
    }
  }

  std::string inflate_data(std::string_view stored, uint64_t size) const {
    // Deflate cannot shrink data by more than a factor of about 1032.
    if (size / 1100 > stored.size() + 64) fail("is a damaged archive");
    std::string data(size, '\0');
    z_stream stream{};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail("cannot be decompressed");
    constexpr size_t kMost = std::numeric_limits<uInt>::max();
    size_t consumed = 0;
    size_t produced = 0;
    int status = Z_OK;
    while (status == Z_OK) {
      const size_t in = std::min(kMost, stored.size() - consumed);
      const size_t out = std::min(kMost, data.size() - produced);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data())) + consumed;
      stream.avail_in = static_cast<uInt>(in);
      stream.next_out = reinterpret_cast<Bytef*>(data.data()) + produced;
      stream.avail_out = static_cast<uInt>(out);
      status = ::inflate(&stream, Z_NO_FLUSH);
      consumed += in - stream.avail_in;
      produced += out - stream.avail_out;
      if (in == stream.avail_in && out == stream.avail_out) break;  // no progress
    }
    ::inflateEnd(&stream);
    if (status != Z_STREAM_END || produced != size) fail("is a damaged archive");
    return data;
  }

 public:
  static uint32_t checksum(std::string_view data) {
    return static_cast<uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  }

 private:
  std::string_view bytes_;
  const std::string& source_;
};

void put(std::string& bytes, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

uint64_t clipped(uint64_t value) { return std::min<uint64_t>(value, kTooLarge); }

}  // namespace

std::vector<ZipEntry> read_zip(std::string_view bytes, const std::string& source) {
  return Reader(bytes, source).entries();
}

void ZipWriter::add(const std::string& name, std::string_view data) {
  const Record record{name, Reader::checksum(data), data.size(), bytes_.size()};
  const bool large = data.size() >= kTooLarge;
  put(bytes_, kLocalHeader, 4);
  put(bytes_, large ? 45 : 20, 2);
  put(bytes_, 0x0800, 2);  // names are UTF-8
  put(bytes_, 0, 2);       // stored
  put(bytes_, 0, 2);
  put(bytes_, kDate, 2);
  put(bytes_, record.crc, 4);
  put(bytes_, clipped(record.size), 4);
  put(bytes_, clipped(record.size), 4);
  put(bytes_, name.size(), 2);
  put(bytes_, large ? 20 : 0, 2);
  bytes_ += name;
  if (large) {
    put(bytes_, 1, 2);
    put(bytes_, 16, 2);
    put(bytes_, record.size, 8);
    put(bytes_, record.size, 8);
  }
  bytes_ += data;
  records_.push_back(record);
}

std::string ZipWriter::finish() {
  const uint64_t directory = bytes_.size();
  for (const Record& record : records_) {
    std::string extra;
    if (record.size >= kTooLarge) {
      put(extra, record.size, 8);
      put(extra, record.size, 8);
    }
    if (record.offset >= kTooLarge) put(extra, record.offset, 8);
    put(bytes_, kCentralHeader, 4);
    put(bytes_, 45, 2);
    put(bytes_, extra.empty() ? 20 : 45, 2);
    put(bytes_, 0x0800, 2);
    put(bytes_, 0, 2);
    put(bytes_, 0, 2);
    put(bytes_, kDate, 2);
    put(bytes_, record.crc, 4);
    put(bytes_, clipped(record.size), 4);
    put(bytes_, clipped(record.size), 4);
    put(bytes_, record.name.size(), 2);
    put(bytes_, extra.empty() ? 0 : extra.size() + 4, 2);
    put(bytes_, 0, 2);  // comment
    put(bytes_, 0, 2);  // disk
    put(bytes_, 0, 2);  // internal attributes
    put(bytes_, uint64_t{0644} << 16, 4);
    put(bytes_, clipped(record.offset), 4);
    bytes_ += record.name;
    if (!extra.empty()) {
      put(bytes_, 1, 2);
      put(bytes_, extra.size(), 2);
      bytes_ += extra;
    }
  }
  const uint64_t end = bytes_.size();
  if (records_.size() >= 0xffff || end >= kTooLarge) {
    put(bytes_, kEnd64, 4);
    put(bytes_, 44, 8);
    put(bytes_, 45, 2);
    put(bytes_, 45, 2);
    put(bytes_, 0, 8);
    put(bytes_, records_.size(), 8);
    put(bytes_, records_.size(), 8);
    put(bytes_, end - directory, 8);
    put(bytes_, directory, 8);
    put(bytes_, kEnd64Locator, 4);
    put(bytes_, 0, 4);
    put(bytes_, end, 8);
    put(bytes_, 1, 4);
  }
  put(bytes_, kEnd, 4);
  put(bytes_, 0, 4);
  put(bytes_, std::min<uint64_t>(records_.size(), 0xffff), 2);
  put(bytes_, std::min<uint64_t>(records_.size(), 0xffff), 2);
  put(bytes_, clipped(end - directory), 4);
  put(bytes_, clipped(directory), 4);
  put(bytes_, 0, 2);
  return std::move(bytes_);
}

}  // namespace mcc::tools
