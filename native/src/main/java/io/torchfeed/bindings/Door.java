// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import java.util.function.Function;

/**
 * A way for torchfeed's own packages into objects of exported classes, to parts that are not for
 * their users. A class opens its door when it is initialized, so before it has objects.
 * Thread-safe.
 *
 * @param <R> the type of the part
 */
public final class Door<R> {
  /** Into a {@code Slab}. */
  public static final Door<NativeHandle<NativeSlab>> SLAB = new Door<>();

  /** Into an {@code ImagePlan}, to the numbers of {@code torchfeed/image_plan.h}. */
  public static final Door<double[]> IMAGE_STEPS = new Door<>();

  /** Into a {@code RowTransform}, to the numbers of {@code torchfeed/row_plan.h}. */
  public static final Door<double[]> ROW_STEPS = new Door<>();

  private volatile Function<Object, R> way =
      object -> {
        throw new IllegalStateException("no class has opened the door to " + object.getClass());
      };

  /**
   * Opens the door.
   *
   * @param owner the class whose objects it leads into
   * @param part returns the part of an object
   */
  public <T> void open(Class<T> owner, Function<T, R> part) {
    way = object -> part.apply(owner.cast(object));
  }

  /**
   * Returns the part of an object.
   *
   * @param owner an object of the class that has opened the door
   * @return the part, which belongs to the object
   */
  public R of(Object owner) {
    return way.apply(owner);
  }
}
