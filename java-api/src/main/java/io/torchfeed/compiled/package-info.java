// SPDX-License-Identifier: Apache-2.0
/**
 * Models that Python has compiled: {@link io.torchfeed.compiled.CompiledModel} runs the packages of
 * {@code torch.export} and AOTInductor.
 *
 * <p>This package knows nothing about datasets and trainings.
 */
@NullMarked
package io.torchfeed.compiled;

import org.jspecify.annotations.NullMarked;
