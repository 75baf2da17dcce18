// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/normalize_neon.h"

#ifdef TORCHFEED_NORMALIZE_NEON

#include <arm_neon.h>

#include "core/image/pixels.h"

namespace torchfeed {
namespace {

constexpr int64_t kAtOnce = 8;
constexpr float kScale = 1.0F / 255.0F;

struct Formula {
  [[nodiscard]] float32x4_t operator()(uint16x4_t bytes) const {
    const float32x4_t scaled = vmulq_n_f32(vcvtq_f32_u32(vmovl_u16(bytes)), kScale);
    return vdivq_f32(vsubq_f32(scaled, mean), std);
  }

  float32x4_t mean;
  float32x4_t std;
};

float32x4_t reversed(float32x4_t numbers) {
  const float32x4_t pairs = vrev64q_f32(numbers);
  return vextq_f32(pairs, pairs, 2);
}

}  // namespace

int64_t normalize_neon(float* target, const uint8_t* rgb, int64_t width, bool reverses, float mean,
                       float std) {
  const Formula formula{vdupq_n_f32(mean), vdupq_n_f32(std)};
  int64_t x = 0;
  for (; x + kAtOnce <= width; x += kAtOnce) {
    const uint16x8_t bytes = vmovl_u8(vld3_u8(rgb + kChannels * x).val[0]);
    const float32x4_t first = formula(vget_low_u16(bytes));
    const float32x4_t last = formula(vget_high_u16(bytes));
    if (reverses) {
      float* const end = target + width - x;
      vst1q_f32(end - 4, reversed(first));
      vst1q_f32(end - kAtOnce, reversed(last));
    } else {
      vst1q_f32(target + x, first);
      vst1q_f32(target + x + 4, last);
    }
  }
  return x;
}

}  // namespace torchfeed

#endif
