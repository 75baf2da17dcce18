// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.bindings.NativeProcessGroup;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;

/**
 * A store that lives until it is closed and no native group uses it. The presets' own pointer would
 * delete it even while a group that has not ended yet holds a reference.
 */
final class OwnedStore extends Store {
  /** An address of which nothing is freed. */
  private static final class Address extends Pointer {
    Address(long address) {
      this.address = address;
    }
  }

  private OwnedStore(TCPStore store) {
    super(new Address(store.address()));
    long owned = address();
    NativeProcessGroup.own_store(owned);
    deallocator(() -> NativeProcessGroup.release_store(owned));
  }

  /**
   * Returns a view of a store for the presets' classes, which count a reference to it as long as
   * they use it.
   *
   * @param prefix the start of the keys of the view, before a slash
   */
  static Store shared(Store store, String prefix) {
    long nested = NativeProcessGroup.nested_store(store.address(), prefix);
    try {
      return new PrefixStore(new Address(nested)).getUnderlyingStore();
    } finally {
      NativeProcessGroup.release_store(nested);
    }
  }

  static OwnedStore create(String host, TCPStoreOptions options) {
    TCPStore store = new TCPStore(host, options);
    store.retainReference(); // the end of a scope, and of the Java object, delete nothing
    store.deallocate(false);
    return new OwnedStore(store);
  }
}
