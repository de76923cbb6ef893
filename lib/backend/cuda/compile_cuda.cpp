// CUDA images: units of kernels, compiled on a thread pool, cached.
#include "lib/backend/cuda/compile_cuda.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "lib/backend/cuda/nvrtc.h"
#include "lib/support/error.h"
#include "skeletons.h"

namespace mcc::backend {
namespace {

constexpr size_t kSmallKernelsPerUnit = 20;
constexpr size_t kHeavyKernelsPerUnit = 3;

struct Unit {
  std::string text;
  std::vector<std::string> kernels;
};

bool is_heavy(const std::string& schedule) { return schedule == "conv" || schedule == "contraction"; }

std::vector<Unit> make_units(const std::vector<CudaSource>& kernels) {
  std::vector<Unit> units;
  Unit open[2];
  for (const CudaSource& kernel : kernels) {
    const bool heavy = is_heavy(kernel.schedule);
    Unit& unit = open[heavy ? 1 : 0];
    unit.text += kernel.text;
    unit.kernels.push_back(kernel.name);
    if (unit.kernels.size() < (heavy ? kHeavyKernelsPerUnit : kSmallKernelsPerUnit)) continue;
    units.push_back(std::move(unit));
    unit = {};
  }
  for (Unit& unit : open) {
    if (!unit.kernels.empty()) units.push_back(std::move(unit));
  }
  return units;
}

int64_t number_before(const std::string& line, const char* what) {
  const size_t end = line.find(what);
  if (end == std::string::npos) return 0;
  size_t begin = end;
  while (begin > 0 && (std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0 || line[begin - 1] == ' ')) --begin;
  return std::strtoll(line.c_str() + begin, nullptr, 10);
}

// ptxas -v: "Compiling entry function 'k0' for 'sm_80'", then "0 bytes stack frame, 0 bytes spill
// stores, 0 bytes spill loads", then "Used 32 registers, ..., 1024 bytes smem, ...".
std::map<std::string, CudaResources> parse_log(const std::string& log) {
  std::map<std::string, CudaResources> found;
  CudaResources* current = nullptr;
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    if (const size_t entry = line.find("entry function '"); entry != std::string::npos) {
      const size_t name = entry + std::strlen("entry function '");
      current = &found[line.substr(name, line.find('\'', name) - name)];
    } else if (current != nullptr && line.find("spill stores") != std::string::npos) {
      current->spill_bytes = number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    } else if (current != nullptr && line.find("Used ") != std::string::npos) {
      current->registers = number_before(line, " registers");
      current->shared_bytes = number_before(line, " bytes smem");
    }
  }
  return found;
}

// Cache entries hold three length-prefixed texts.
std::string pack(const NvrtcResult& result) {
  std::string out;
  for (const std::string* part : {&result.ptx, &result.cubin, &result.log}) {
    out += std::to_string(part->size()) + "\n" + *part;
  }
  return out;
}

std::optional<NvrtcResult> unpack(const std::string& bytes) {
  NvrtcResult result;
  size_t at = 0;
  for (std::string* part : {&result.ptx, &result.cubin, &result.log}) {
    const size_t end = bytes.find('\n', at);
    if (end == std::string::npos) return std::nullopt;
    const size_t size = std::strtoull(bytes.c_str() + at, nullptr, 10);
    if (size > bytes.size() - end - 1) return std::nullopt;
    *part = bytes.substr(end + 1, size);
    at = end + 1 + size;
  }
  return result;
}

// Device-side options that change the code: part of the cache key.
const std::vector<std::string>& compile_options() {
  static const std::vector<std::string> options{"-std=c++17", "-default-device", "--ptxas-options=-v", "-fmad=true"};
  return options;
}

}  // namespace

CudaImages compile_cuda(const std::vector<CudaSource>& kernels, const CudaCompileOptions& options,
                        const KernelCache& cache) {
  const std::shared_ptr<const Nvrtc> nvrtc = Nvrtc::open();
  CudaImages images;
  images.nvrtc_version = nvrtc->version();
  images.nvrtc_major = nvrtc->major();
  const std::vector<Unit> units = make_units(kernels);
  std::string all_options;
  for (const std::string& option : compile_options()) all_options += option + " ";
  images.images.resize(units.size() * options.architectures.size());

  std::atomic<size_t> next{0};
  std::atomic<int> done{0};
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    for (size_t i = next++; i < images.images.size(); i = next++) {
      try {
        const Unit& unit = units[i % units.size()];
        CudaImage& image = images.images[i];
        image.architecture = options.architectures[i / units.size()];
        image.kernels = unit.kernels;
        const std::string source = std::string(skeletons::prelude_cu) + unit.text;
        const std::string key =
            KernelCache::key("cuda", {images.nvrtc_version, image.architecture, all_options, source});
        std::optional<NvrtcResult> result;
        if (std::optional<std::string> known = cache.load(key)) result = unpack(*known);
        if (!result) {
          result = nvrtc->compile(source, image.architecture, compile_options());
          cache.store(key, pack(*result));
        }
        const std::map<std::string, CudaResources> resources = parse_log(result->log);
        for (const std::string& kernel : unit.kernels) {
          auto found = resources.find(kernel);
          image.resources.push_back(found == resources.end() ? CudaResources{} : found->second);
        }
        image.ptx = std::move(result->ptx);
        image.cubin = std::move(result->cubin);
        const int finished = ++done;
        if (options.progress) {
          const std::lock_guard<std::mutex> lock(mutex);
          options.progress(finished, static_cast<int>(images.images.size()));
        }
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = std::current_exception();
        return;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return images;
}

namespace {

int capability_of(const std::string& architecture) {
  return static_cast<int>(std::strtol(architecture.c_str() + std::strlen("sm_"), nullptr, 10));
}

void add_target(const CudaImages& images, const std::string& architecture, bool as_ptx, runtime::PlanWriter& writer,
                runtime::Manifest& manifest) {
  runtime::TargetInfo target;
  target.kind = as_ptx ? runtime::TargetKind::ptx : runtime::TargetKind::cubin;
  target.compute_capability = capability_of(architecture);
  target.name = as_ptx ? "compute_" + architecture.substr(std::strlen("sm_")) : architecture;
  target.exact_architecture = architecture.back() == 'a';
  target.family_architecture = architecture.back() == 'f';
  // A cubin runs from the first driver of its CUDA major version on; PTX needs a driver as new as
  // the compiler.
  const int minor = static_cast<int>(std::strtol(images.nvrtc_version.c_str() + images.nvrtc_version.find('.') + 1, nullptr, 10));
  target.minimum_driver = images.nvrtc_major * 1000 + (as_ptx ? minor * 10 : 0);
  // One entry per kernel of the manifest, in its order.
  std::map<std::string, size_t> position;
  for (size_t i = 0; i < manifest.kernels.size(); ++i) position[manifest.kernels[i].name] = i;
  target.kernels.resize(manifest.kernels.size());
  for (const CudaImage& image : images.images) {
    if (image.architecture != architecture) continue;
    target.sections.push_back(
        writer.add_section(runtime::SectionKind::image, as_ptx ? image.ptx : image.cubin));
    for (size_t i = 0; i < image.kernels.size(); ++i) {
      runtime::KernelResources& resources = target.kernels[position.at(image.kernels[i])];
      resources.name = image.kernels[i];
      resources.image = static_cast<int>(target.sections.size()) - 1;
      resources.registers = image.resources[i].registers;
      resources.spill_bytes = image.resources[i].spill_bytes;
      resources.shared_bytes = image.resources[i].shared_bytes;
    }
  }
  manifest.targets.push_back(std::move(target));
}

}  // namespace

std::string lowest_portable(const std::vector<std::string>& architectures) {
  std::string lowest;
  for (const std::string& architecture : architectures) {
    const bool portable = std::isdigit(static_cast<unsigned char>(architecture.back())) != 0;
    if (portable && (lowest.empty() || capability_of(architecture) < capability_of(lowest))) lowest = architecture;
  }
  return lowest;
}

void add_cuda_targets(const CudaImages& images, const std::vector<std::string>& cubins,
                      const std::vector<std::string>& ptx, runtime::PlanWriter& writer,
                      runtime::Manifest& manifest) {
  for (const std::string& architecture : cubins)
    add_target(images, architecture, false, writer, manifest);
  for (const std::string& architecture : ptx)
    add_target(images, architecture, true, writer, manifest);
}

}  // namespace mcc::backend
