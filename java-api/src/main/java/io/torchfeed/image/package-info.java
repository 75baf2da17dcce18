// SPDX-License-Identifier: Apache-2.0
/**
 * Images: how an encoded image becomes a row of a batch.
 *
 * <p>An {@link io.torchfeed.image.ImagePlan} is a list of steps, for example crop, resize and
 * normalize. Native code decodes an image and applies them in one pass over its rows, straight into
 * the memory of the batch; the pixels equal Pillow's or torchvision's bit for bit, but for two
 * kinds of files that the plan names.
 *
 * <p>An {@link io.torchfeed.image.ImageTensorPlan} turns a batch of bytes into the input of a
 * model, on the device of the batch. An {@link io.torchfeed.image.NvJpegDecoder} decodes JPEGs on a
 * device in the first place.
 *
 * <p>This package knows nothing about datasets; it writes into a {@link io.torchfeed.memory.Slab}.
 */
@NullMarked
package io.torchfeed.image;

import org.jspecify.annotations.NullMarked;
