/*
 * The callback API: one subscriber, with callbacks at entry and exit of the calls that the
 * subscriber has chosen. There are no resource or synchronization callbacks.
 */
#include "test/sim/cupti_sim.h"

#include "cupti_impl.h"

#define DOMAINS 16

static const char *const driver_names[2048] = {
#include "cbid_driver.def"
};
static const char *const runtime_names[2048] = {
#include "cbid_runtime.def"
};

static struct subscriber {
	CUpti_CallbackFunc callback;
	void *data;
	bool on[DOMAINS][2048];
} the_subscriber;

static bool subscribed;

void cupti_callback_reset(void)
{
	subscribed = false;
	memset(&the_subscriber, 0, sizeof(the_subscriber));
}

static CUpti_CallbackDomain domain_of(const struct sim_frame *frame)
{
	return frame->domain == SIM_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API
					    : CUPTI_CB_DOMAIN_DRIVER_API;
}

static void callback_call(struct sim_frame *frame, CUpti_ApiCallbackSite site, int *status)
{
	CUpti_CallbackDomain domain = domain_of(frame);
	if (!subscribed || frame->cbid >= 2048 || !the_subscriber.on[domain][frame->cbid])
		return;
	CUpti_CallbackData data = { .callbackSite = site,
				    .functionName = frame->name,
				    .functionParams = frame->params,
				    .functionReturnValue = status,
				    .context = cupti_tools->current(),
				    .correlationData = &frame->callback_data[0],
				    .correlationId = frame->correlation };
	data.contextUid = data.context ? cupti_tools->context_id(data.context) : 0;
	the_subscriber.callback(the_subscriber.data, domain, frame->cbid, &data);
}

void cupti_callback_enter(struct sim_frame *frame)
{
	frame->callback_data[0] = 0;
	callback_call(frame, CUPTI_API_ENTER, NULL);
}

void cupti_callback_exit(struct sim_frame *frame, int status)
{
	callback_call(frame, CUPTI_API_EXIT, &status);
}

CUptiResult ct_cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
			      void *data)
{
	CUptiResult rc = handle ? cupti_attach() : CUPTI_ERROR_INVALID_PARAMETER;
	if (rc)
		return rc;
	pthread_mutex_lock(&cupti_lock);
	if (subscribed) {
		rc = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	} else {
		memset(&the_subscriber, 0, sizeof(the_subscriber));
		the_subscriber.callback = callback;
		the_subscriber.data = data;
		subscribed = callback != NULL;
		*handle = (CUpti_SubscriberHandle)&the_subscriber;
	}
	pthread_mutex_unlock(&cupti_lock);
	return rc;
}

CUptiResult ct_cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	if ((void *)handle != &the_subscriber)
		return CUPTI_ERROR_INVALID_PARAMETER;
	cupti_callback_reset();
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
				   CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if ((void *)handle != &the_subscriber || (unsigned)domain >= DOMAINS || cbid >= 2048)
		return CUPTI_ERROR_INVALID_PARAMETER;
	the_subscriber.on[domain][cbid] = enable;
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
				 CUpti_CallbackDomain domain)
{
	if ((void *)handle != &the_subscriber || (unsigned)domain >= DOMAINS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset(the_subscriber.on[domain], enable != 0, sizeof(the_subscriber.on[domain]));
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
	if ((void *)handle != &the_subscriber)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset(the_subscriber.on, enable != 0, sizeof(the_subscriber.on));
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
				     CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if ((void *)handle != &the_subscriber || (unsigned)domain >= DOMAINS || cbid >= 2048)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*enable = the_subscriber.on[domain][cbid];
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	const char *const *names = domain == CUPTI_CB_DOMAIN_RUNTIME_API  ? runtime_names
				   : domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_names
									  : NULL;
	if (!name || !names || cbid >= 2048 || !names[cbid])
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = names[cbid];
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiSupportedDomains(size_t *count, CUpti_DomainTable *table)
{
	static CUpti_CallbackDomain domains[] = { CUPTI_CB_DOMAIN_DRIVER_API,
						  CUPTI_CB_DOMAIN_RUNTIME_API };
	*count = 2;
	*table = domains;
	return CUPTI_SUCCESS;
}
