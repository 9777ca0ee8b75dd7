/* Stands in for libnvidia-ml.so.1 on a machine without a GPU. Every reading of a GPU's energy adds
   a kilojoule. FAKE_GPUS is how many a node has: ranks take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long energy;

int nvmlInit_v2(void) { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  *device = &energy;
  return strcmp(address, "0000:1B:00.0") == 0 ? 0 : 6; /* not found */
}

int nvmlDeviceGetUUID(void* device, char* id, unsigned size) {
  const char* rank = getenv("LOCAL_RANK");
  const char* gpus = getenv("FAKE_GPUS");
  (void)device;
  snprintf(id, size, "GPU-%d", (rank ? atoi(rank) : 0) % (gpus ? atoi(gpus) : 1));
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *(unsigned long long*)device += 1000000;
  *millijoules = *(unsigned long long*)device;
  return 0;
}
