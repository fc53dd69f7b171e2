# The API models that the simulated cloud is strict by: see models/prune.mjs.
CLOUD_MODELS := $(B)/cloud-models.json
AWSCLI_DIR ?= tests/node_modules/.tools/awscli

$(CLOUD_MODELS): tests/cloud/models/prune.mjs $(SRC_cloud)
	$(call say,MODEL,$@)
	@mkdir -p $(@D)
	$(Q)node tests/cloud/models/prune.mjs $@ $(AWSCLI_DIR)
